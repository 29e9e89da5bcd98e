import { useResource, type ResourceOptions } from './resource.js';
import { service } from './service.js';

/** Reads the requests that wait for approval, and the rules of approvals. */
export const usePendingApprovals = (options: ResourceOptions = {}) =>
  useResource(
    'pending approvals',
    (signal) => service.value.call('listApprovals', { query: { state: 'pending' }, signal }),
    options,
  );
