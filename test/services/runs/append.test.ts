import { describeGrowingStore } from './append/growing-store.js';
import { describeStrategies } from './append/strategies.js';

describeGrowingStore();
describeStrategies();
