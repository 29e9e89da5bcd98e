import type { FullRunReason } from '#domain/documents/full-run-reasons.js';
import type { MarketIdentity } from '#domain/market/market-identity.js';
import type { FactorFile, ModelFile, RiskUniverse, ValidateRiskModelInput } from './indices.js';
import type { EarlierContentFiles, OutputNames, TaskOutputs } from './files.js';
import type { RenderedRun, RenderInput } from './outputs.js';
import type { BacktestInput } from './runs.js';

/**
 * Inputs of job tasks as a node receives them. They are plain JSON that names artifacts and markets but does not
 * contain them. `resolve-task.ts` replaces the names by resources of the node.
 */

/**
 * Order of a task with input `I`. Six fields name a market or files, `outputs` contains names, and all other fields are
 * those of the input. An input with other files needs a separate order type and a function that resolves it.
 */
export type OrderOf<I> = { readonly [K in keyof I]: NamedField<K, I[K]> };

type NamedField<K, V> =
  V extends TaskOutputs<infer F> ? OutputNames<F> : K extends keyof NamedFields<V> ? NamedFields<V>[K] : V;

interface NamedFields<V> {
  readonly market: V extends null ? null : MarketIdentity;
  readonly columns: ArtifactReference;
  /** Stored risk models. */
  readonly models: ModelReferences;
  /** Earlier contents, so that decisions use the data that was known at their time. */
  readonly known: EarlierContentReferences;
  /** Securities of a risk model. */
  readonly universe: V extends RiskUniverse ? OrderOf<V> : V;
  /** Outputs of the parts of a job. */
  readonly files: V extends readonly (infer F)[] ? readonly (Omit<F, 'path'> & ArtifactReference)[] : V;
}

/** Artifact by its name. */
export interface ArtifactReference {
  readonly artifact: string;
  /** Names of artifacts that the file refers to; the node keeps them in the same folder. */
  readonly beside?: readonly string[];
}

/** Artifact by its name and its required hash. */
export type HashedReference = ArtifactReference & { readonly sha256: string };

/** Stored risk models by the names of their files. */
export type ModelReferences = Readonly<Record<string, ModelReference>>;

export type ModelReference = Omit<ModelFile, 'paths' | 'factors'> & {
  readonly artifacts: readonly string[];
  readonly factors?: Omit<FactorFile, 'path'> & ArtifactReference;
};

/** Changes that restore earlier contents, by the names of their files. */
export interface EarlierContentReferences extends Omit<EarlierContentFiles, 'earlier'> {
  readonly earlier: readonly (Omit<EarlierContentFiles['earlier'][number], 'path'> & ArtifactReference)[];
}

export type BacktestOrder = OrderOf<Omit<BacktestInput, 'stored' | 'checkedFiles'>> & {
  /** Stored run that is extended if the result is the same, or the reason why no run can be extended. */
  readonly stored?: StoredRunReferences | FullRunReason | null;
};

/** Files of a stored run that can be extended; see `ResumableRun`. */
export interface StoredRunReferences {
  readonly columns: ArtifactReference;
  readonly checkpoint: HashedReference;
  readonly checked: readonly HashedReference[];
  readonly fileNames: readonly string[];
}

export type RiskUniverseOrder = OrderOf<RiskUniverse>;

export type ValidateRiskModelOrder = OrderOf<Omit<ValidateRiskModelInput, 'run'>> & {
  readonly run: OrderOf<NonNullable<ValidateRiskModelInput['run']>> | null;
};

export type RenderedRunOrder = OrderOf<Omit<RenderedRun, 'overview'>> & {
  readonly overview: { readonly plan: HashedReference } | { readonly stored: HashedReference };
};

export type RenderOrder = OrderOf<Omit<RenderInput, 'runs'>> & { readonly runs: readonly RenderedRunOrder[] };
