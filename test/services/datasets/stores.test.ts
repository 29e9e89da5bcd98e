import { describeRegistering } from './stores/registering.js';
import { describeActivating } from './stores/activating.js';
import { describeImporting } from './stores/importing.js';
import { describeChanging } from './stores/changing.js';
import { describeSynthetic } from './stores/synthetic.js';
import { describeDatabases } from './stores/databases.js';
import { describeRefreshing } from './stores/refreshing.js';

describeRegistering();
describeActivating();
describeImporting();
describeChanging();
describeSynthetic();
describeDatabases();
describeRefreshing();
