"""Whose lab it is."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('api', '0002_labs'),
    ]

    operations = [
        migrations.AddField(
            model_name='labrecord',
            name='owner',
            field=models.CharField(blank=True, db_index=True, default='', max_length=100),
        ),
    ]
