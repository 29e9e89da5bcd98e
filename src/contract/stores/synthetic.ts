import { jobStatus } from '../jobs.js';
import { DataStore } from './store.js';

export const GenerateJobStatus = jobStatus('GenerateJobStatus', 'generate', DataStore);
