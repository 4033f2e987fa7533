"""What students have made of the lessons."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("people", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="LessonResult",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("grade", models.CharField(max_length=8)),
                (
                    "seat",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="lessons", to="people.seat"
                    ),
                ),
            ],
            options={"ordering": ("seat", "name")},
        ),
        migrations.AddConstraint(
            model_name="lessonresult",
            constraint=models.UniqueConstraint(fields=("seat", "name"), name="one_result_a_lesson"),
        ),
    ]
