import { verifyBundle } from './main.js';

/** Scope of the worker of the page `/verify`. The tab sends a bundle and receives the verdict. */
interface WorkerScope {
  addEventListener(type: 'message', listen: (event: { readonly data: Uint8Array }) => void): void;
  postMessage(verdict: object, transfer: readonly []): void;
}

const scope = globalThis as unknown as WorkerScope; // this module runs in a web worker

scope.addEventListener('message', ({ data }) => {
  const from = performance.now();
  void verifyBundle(data).then((verdict) => scope.postMessage({ ...verdict, ms: performance.now() - from }, []));
});
