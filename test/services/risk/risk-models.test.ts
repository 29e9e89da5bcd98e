import { describeEstimate } from './risk-models/estimate.js';
import { describeIndexModels } from './risk-models/index-models.js';
import { describeValidate } from './risk-models/validate.js';
import { describeStored } from './risk-models/stored.js';

describeEstimate();
describeIndexModels();
describeValidate();
describeStored();
