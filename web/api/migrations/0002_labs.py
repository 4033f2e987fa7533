"""The table of labs that are begun over REST."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('api', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='LabRecord',
            fields=[
                ('name', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('place', models.PositiveIntegerField(unique=True)),
                ('cluster', models.JSONField(default=dict)),
                ('seed', models.BigIntegerField()),
                ('created', models.DateTimeField(auto_now_add=True)),
            ],
        ),
    ]
