"""The first answers of students: to the question before a lesson, to a question of a quiz."""

from __future__ import annotations

from django.db import migrations, models
from django.db.models import CASCADE


class Migration(migrations.Migration):

    dependencies = [
        ('people', '0003_polls'),
    ]

    operations = [
        migrations.AddField(
            model_name='lessonresult',
            name='first',
            field=models.CharField(default='', max_length=8),
        ),
        migrations.CreateModel(
            name='QuestionResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('first', models.CharField(max_length=8)),
                ('grade', models.CharField(max_length=8)),
                ('tries', models.PositiveIntegerField(default=1)),
                ('seat', models.ForeignKey(on_delete=CASCADE, related_name='questions', to='people.seat')),
            ],
            options={
                'ordering': ('seat', 'name'),
                'constraints': [models.UniqueConstraint(fields=('seat', 'name'), name='one_result_a_question')],
            },
        ),
    ]
