import { describeWeights } from './views/weights.js';
import { describeOtherViews } from './views/other-views.js';
import { describePerformance } from './views/performance.js';
import { describeRefusals } from './views/refusals.js';

describeWeights();
describeOtherViews();
describePerformance();
describeRefusals();
