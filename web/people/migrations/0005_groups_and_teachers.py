"""Groups that share a lab; the teacher whose class it is."""

from __future__ import annotations

from django.conf import settings
from django.db import migrations, models
from django.db.models import CASCADE, SET_NULL


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('people', '0004_first_answers'),
    ]

    operations = [
        migrations.AddField(
            model_name='classroom',
            name='teacher',
            field=models.ForeignKey(null=True, on_delete=SET_NULL, related_name='classes', to=settings.AUTH_USER_MODEL),
        ),
        migrations.CreateModel(
            name='Group',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('classroom', models.ForeignKey(on_delete=CASCADE, related_name='groups', to='people.classroom')),
            ],
            options={
                'ordering': ('number',),
                'constraints': [models.UniqueConstraint(fields=('classroom', 'number'), name='one_group_a_number')],
            },
        ),
        migrations.AddField(
            model_name='seat',
            name='group',
            field=models.ForeignKey(null=True, on_delete=SET_NULL, related_name='seats', to='people.group'),
        ),
    ]
