import { createJobStatus } from '../jobs.js';
import { DataStore } from './store.js';

export const GenerateJobStatus = createJobStatus('GenerateJobStatus', 'generate', DataStore);
