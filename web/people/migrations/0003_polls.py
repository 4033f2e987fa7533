"""The tables of polls."""

from __future__ import annotations

from django.db import migrations, models
from django.db.models import CASCADE


class Migration(migrations.Migration):

    dependencies = [
        ('people', '0002_lesson_results'),
    ]

    operations = [
        migrations.CreateModel(
            name='Poll',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.CharField(max_length=100)),
                ('state', models.CharField(default='open', max_length=16)),
                ('opened', models.DateTimeField(auto_now_add=True)),
                ('classroom', models.ForeignKey(on_delete=CASCADE, related_name='polls', to='people.classroom')),
            ],
            options={
                'ordering': ('id',),
            },
        ),
        migrations.CreateModel(
            name='Vote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('answer', models.JSONField()),
                ('grade', models.CharField(max_length=16)),
                ('poll', models.ForeignKey(on_delete=CASCADE, related_name='votes', to='people.poll')),
                ('seat', models.ForeignKey(on_delete=CASCADE, related_name='votes', to='people.seat')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('poll', 'seat'), name='one_vote_a_poll')],
            },
        ),
    ]
