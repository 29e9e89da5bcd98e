import { openPage, type PageEngine, type PageExamples } from './page.js';

/** Request of the page `dist/page`: a call of the engine, or the examples with which it opens. */
interface PageRequest {
  readonly id: number;
  readonly call: 'open' | Exclude<keyof PageEngine, 'market'>;
  readonly words: readonly unknown[];
}

interface WorkerScope {
  addEventListener(type: 'message', listen: (event: { readonly data: PageRequest }) => void): void;
  postMessage(answer: object, transfer: readonly []): void;
}

const scope = globalThis as unknown as WorkerScope; // this module runs in a web worker
let opening: Promise<PageEngine> | undefined;

async function answer({ call, words }: PageRequest): Promise<unknown> {
  if (call === 'open') return (await (opening = openPage(words[0] as PageExamples))).market;
  const engine = await opening!; // the page opens the engine first
  const method = engine[call] as (...words: readonly unknown[]) => unknown;
  return method(...words);
}

/** Returns an error of the engine with its code and detail, which a copy of the error would lack. */
const toFailure = (failure: unknown): object => {
  const { code, detail } = failure as { readonly code?: string; readonly detail?: unknown };
  return { code: code ?? 'INTERNAL', message: failure instanceof Error ? failure.message : String(failure), detail };
};

scope.addEventListener('message', ({ data }) => {
  void answer(data).then(
    (result) => scope.postMessage({ id: data.id, result }, []),
    (failure: unknown) => scope.postMessage({ id: data.id, failure: toFailure(failure) }, []),
  );
});
