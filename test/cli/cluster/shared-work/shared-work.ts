import type { ListeningProcess } from '../../process.js';
import type { RunningCluster } from '../running-cluster.js';

/** A cluster with a served market. Its workers share the parts of jobs. */
export interface SharedWork {
  readonly cluster: () => RunningCluster;
  /** Running workers. */
  workers: ListeningProcess[];
}
