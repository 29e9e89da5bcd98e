import type { Listening } from '../../process.js';
import type { RunningCluster } from '../running-cluster.js';

/** A cluster with a served market, whose workers share parts of jobs. */
export interface SharedWork {
  readonly cluster: () => RunningCluster;
  /** Workers that run. */
  workers: Listening[];
}
