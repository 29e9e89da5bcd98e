import { describeBackup } from './home-commands/backup.js';
import { describeDamage } from './home-commands/damage.js';
import { describeRestore } from './home-commands/restore.js';
import { describeLayout } from './home-commands/layout.js';
import { describeDoctor } from './home-commands/doctor.js';

describeBackup();
describeDamage();
describeRestore();
describeLayout();
describeDoctor();
