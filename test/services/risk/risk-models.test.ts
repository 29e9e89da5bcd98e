import { describeEstimate } from './risk-models/estimate.js';
import { describeIndexModels } from './risk-models/index-models.js';
import { describeStored } from './risk-models/stored.js';

describeEstimate();
describeIndexModels();
describeStored();
