"""What a lab may take."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('api', '0003_lab_owner'),
    ]

    operations = [
        migrations.AddField(
            model_name='labrecord',
            name='limits',
            field=models.JSONField(default=dict),
        ),
    ]
