import type { FullRunReason } from '#domain/documents/full-run-reasons.js';
import type { MarketHandle, MarketIdentity } from '#domain/market/handle.js';
import type {
  EstimateRiskModelInput,
  FactorFile,
  ModelFile,
  ModelRowsFile,
  OptimiseInput,
  RiskModelRowsInput,
  RiskModelSource,
  RiskUniverse,
  SumRiskModelInput,
  ValidateRiskModelInput,
} from './indices.js';
import type { KnownFiles, WithOutputNames } from './files.js';
import type { AccountBacktestInput, AccountsFile, BatchPartInput, SumBatchInput } from './personal.js';
import type { RenderedRun, RenderInput } from './outputs.js';
import type {
  BacktestInput,
  OutcomesFile,
  ReplayInput,
  RowsFile,
  SimulatePartInput,
  SumRowsInput,
  SumSimulationInput,
  SumSweepInput,
  SweepPartInput,
  TalliesFile,
} from './runs.js';

/**
 * Inputs of job tasks as a node receives them: plain JSON that names artifacts and markets instead of containing them.
 * `resolve-task.ts` replaces the names by the node's resources.
 */

/** An artifact by its name. */
export interface ArtifactReference {
  readonly artifact: string;
  /** Names of artifacts that the file refers to: the node has them in the same folder. */
  readonly beside?: readonly string[];
}

/** An artifact by its name and its required hash. */
export type HashedReference = ArtifactReference & { readonly sha256: string };

/** An input that names its market by identity, and its outputs. */
export type OnMarket<I> = WithOutputNames<{
  readonly [K in keyof I]: K extends 'market'
    ? I[K] extends MarketHandle
      ? MarketIdentity
      : MarketIdentity | null
    : I[K];
}>;

/** An input that names some of its files. */
export type OnArtifacts<I, F extends keyof I> = {
  readonly [K in keyof I]: K extends F ? ArtifactReference : I[K];
};

/** Stored risk models by the names of their files. */
export type ModelReferences = Readonly<Record<string, ModelReference>>;

export type ModelReference = Omit<ModelFile, 'path' | 'factors'> &
  ArtifactReference & { readonly factors?: Omit<FactorFile, 'path'> & ArtifactReference };

/** An order of a task that may use stored risk models. */
export interface WithModels {
  readonly models?: ModelReferences;
}

/** Changes back to earlier contents by the names of their files. */
export interface KnownReferences extends Omit<KnownFiles, 'earlier'> {
  readonly earlier: readonly (Omit<KnownFiles['earlier'][number], 'path'> & ArtifactReference)[];
}

/** An order of a task whose decisions may use data as it was known. */
export interface WithKnown {
  readonly known?: KnownReferences;
}

export type OptimiseOrder = OnMarket<Omit<OptimiseInput, 'models'>> & WithModels;

export type SweepPartOrder = OnMarket<Omit<SweepPartInput, 'models' | 'known'>> & WithModels & WithKnown;

export type SumSweepOrder = OnMarket<Omit<SumSweepInput, 'files'>> & {
  readonly files: readonly (Omit<OutcomesFile, 'path'> & ArtifactReference)[];
};

export type AccountBacktestOrder = OnMarket<Omit<AccountBacktestInput, 'models'>> & WithModels;

export type BatchPartOrder = OnMarket<Omit<BatchPartInput, 'models'>> & WithModels;

export type SumBatchOrder = OnMarket<Omit<SumBatchInput, 'models' | 'files'>> &
  WithModels & { readonly files: readonly (Omit<AccountsFile, 'path'> & ArtifactReference)[] };

export type SumRowsOrder = WithOutputNames<Omit<SumRowsInput, 'files'>> & {
  readonly files: readonly (Omit<RowsFile, 'path'> & ArtifactReference)[];
};

export type BacktestOrder = OnMarket<Omit<BacktestInput, 'stored' | 'models' | 'known' | 'checkedFiles'>> &
  WithModels &
  WithKnown & {
    /** Stored run to extend if the result is the same, or the reason why there is none. */
    readonly stored?: StoredRunReferences | FullRunReason | null;
  };

/** Files of a stored run that can be extended; see `ResumableRun`. */
export interface StoredRunReferences {
  readonly columns: ArtifactReference;
  readonly checkpoint: HashedReference;
  readonly checked: readonly HashedReference[];
  readonly fileNames: readonly string[];
}

export type ReplayOrder = OnMarket<Omit<ReplayInput, 'columns' | 'models' | 'known'>> &
  WithModels &
  WithKnown & {
    /** Columns of the stored run. */
    readonly columns: ArtifactReference;
  };

export type SimulatePartOrder = OnMarket<OnArtifacts<SimulatePartInput, 'columns'>>;

export type SumSimulationOrder = OnMarket<OnArtifacts<Omit<SumSimulationInput, 'files'>, 'columns'>> & {
  readonly files: readonly (Omit<TalliesFile, 'path'> & ArtifactReference)[];
};

export type RiskUniverseOrder =
  | Extract<RiskUniverse, { readonly kind: 'names' }>
  | OnArtifacts<Extract<RiskUniverse, { readonly kind: 'run' }>, 'columns'>;

/** An input that names its market, and the securities of a risk model. */
type OnUniverse<I> = OnMarket<Omit<I, 'universe'>> & { readonly universe: RiskUniverseOrder };

export type RiskModelOrder = OnUniverse<RiskModelSource>;

export type EstimateRiskModelOrder = OnUniverse<EstimateRiskModelInput>;

export type RiskModelRowsOrder = OnUniverse<RiskModelRowsInput>;

export type SumRiskModelOrder = OnUniverse<Omit<SumRiskModelInput, 'files'>> & {
  readonly files: readonly (Omit<ModelRowsFile, 'path'> & ArtifactReference)[];
};

export type ValidateRiskModelOrder = OnMarket<Omit<ValidateRiskModelInput, 'run'>> & {
  readonly run: OnArtifacts<NonNullable<ValidateRiskModelInput['run']>, 'columns'> | null;
};

export type RenderedRunOrder = OnMarket<OnArtifacts<Omit<RenderedRun, 'overview'>, 'columns'>> & {
  readonly overview: { readonly plan: HashedReference } | { readonly stored: HashedReference };
};

export type RenderOrder = WithOutputNames<Omit<RenderInput, 'runs'>> & { readonly runs: readonly RenderedRunOrder[] };
