import { describeOnAHome } from './job-commands/on-a-home.js';
import { describeAgainstAService } from './job-commands/against-a-service.js';
import { describeWithoutAService } from './job-commands/without-a-service.js';

describeOnAHome();
describeAgainstAService();
describeWithoutAService();
