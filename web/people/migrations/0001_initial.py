"""The tables of classes."""

from __future__ import annotations

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Classroom',
            fields=[
                ('code', models.CharField(max_length=8, primary_key=True, serialize=False)),
                ('title', models.CharField(max_length=100)),
                ('is_open', models.BooleanField(default=True)),
                ('created', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ('created', 'code'),
            },
        ),
        migrations.CreateModel(
            name='Seat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=60)),
                ('joined', models.DateTimeField(auto_now_add=True)),
                ('classroom', models.ForeignKey(on_delete=models.CASCADE, related_name='seats', to='people.classroom')),
                ('user', models.OneToOneField(on_delete=models.CASCADE, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('number',),
            },
        ),
        migrations.CreateModel(
            name='Task',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('document', models.JSONField()),
                ('tries', models.PositiveIntegerField(null=True)),
                ('due', models.DateTimeField(null=True)),
                ('given', models.DateTimeField(auto_now_add=True)),
                ('classroom', models.ForeignKey(on_delete=models.CASCADE, related_name='tasks', to='people.classroom')),
            ],
            options={
                'ordering': ('given', 'id'),
            },
        ),
        migrations.CreateModel(
            name='HandIn',
            fields=[
                ('id', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('attempt', models.JSONField(default=dict)),
                ('packed', models.BooleanField(default=False)),
                ('hints', models.PositiveIntegerField(default=0)),
                ('state', models.CharField(default='queued', max_length=16)),
                ('progress', models.FloatField(default=0.0)),
                ('points', models.PositiveIntegerField(default=0)),
                ('grade', models.JSONField(null=True)),
                ('error', models.JSONField(null=True)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('ended', models.DateTimeField(null=True)),
                ('seat', models.ForeignKey(on_delete=models.CASCADE, related_name='hand_ins', to='people.seat')),
                ('task', models.ForeignKey(on_delete=models.CASCADE, related_name='hand_ins', to='people.task')),
            ],
            options={
                'ordering': ('created', 'id'),
            },
        ),
        migrations.CreateModel(
            name='Work',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('opened', models.DateTimeField(auto_now_add=True)),
                ('hints', models.PositiveIntegerField(default=0)),
                ('seat', models.ForeignKey(on_delete=models.CASCADE, related_name='works', to='people.seat')),
                ('task', models.ForeignKey(on_delete=models.CASCADE, related_name='works', to='people.task')),
            ],
        ),
        migrations.AddConstraint(
            model_name='seat',
            constraint=models.UniqueConstraint(fields=('classroom', 'number'), name='one_seat_a_number'),
        ),
        migrations.AddConstraint(
            model_name='seat',
            constraint=models.UniqueConstraint(fields=('classroom', 'name'), name='one_seat_a_name'),
        ),
        migrations.AddConstraint(
            model_name='task',
            constraint=models.UniqueConstraint(fields=('classroom', 'name'), name='one_task_a_name'),
        ),
        migrations.AddConstraint(
            model_name='handin',
            constraint=models.UniqueConstraint(fields=('seat', 'task', 'number'), name='one_hand_in_a_number'),
        ),
        migrations.AddConstraint(
            model_name='work',
            constraint=models.UniqueConstraint(fields=('seat', 'task'), name='one_work_a_task'),
        ),
    ]
