"""The table of jobs."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=16)),
                ('name', models.CharField(max_length=200)),
                ('lab', models.CharField(max_length=100)),
                ('seed', models.BigIntegerField(null=True)),
                ('live', models.BooleanField(default=False)),
                ('run', models.CharField(default='', max_length=100)),
                ('state', models.CharField(default='queued', max_length=16)),
                ('phase', models.CharField(default='', max_length=16)),
                ('progress', models.FloatField(default=0.0)),
                ('result', models.JSONField(null=True)),
                ('error', models.JSONField(null=True)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('changed', models.DateTimeField(auto_now=True)),
            ],
            options={
                'ordering': ('-created', '-id'),
            },
        ),
    ]
