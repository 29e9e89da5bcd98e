import type { RunSummaryRow } from '#clients/typescript/divisor.js';
import { useMemo, useState } from 'preact/hooks';
import { AddSelect } from '../../components/add-select.js';
import { Button } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { Icon } from '../../components/icon.js';
import { Page } from '../../components/page.js';
import { RangeBar } from '../../components/range-bar.js';
import { PageSkeleton } from '../../components/skeleton.js';
import { createPin, isArranged, pins, PINS_MAX, setPins, type NewPin, type Pin } from '../../state/dashboard.js';
import { getPartName } from '../../state/part.js';
import { formatAddress } from '../../state/location.js';
import { findChosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatCompareAddress, formatIndexAddress } from '../../words/addresses.js';
import { countValues } from '../../words/numbers.js';
import { chooseOverviewRuns, findSharedBenchmark } from './compared-runs.js';
import { LagBadge } from './lag-badge.js';
import { PinFrame, FIRST_HEIGHT } from './pin-frame.js';
import { RunChoice } from './run-choice.js';
import './dashboard.css';

/**
 * Page of charts, tables and figures that were pinned on other pages. Before the first change it shows an overview of the
 * newest runs.
 */
export function DashboardPage() {
  const runs = useRuns();
  const [dragged, setDragged] = useState<string | null>(null);
  const [loadedIds, setLoadedIds] = useState<ReadonlySet<string>>(new Set());
  const storedPins = pins.value;
  const isOverview = storedPins.length === 0 && !isArranged();
  const summaries = runs.data?.summaries ?? [];
  const overview = useMemo(() => createOverview(summaries).map(createPin), [runs.data]);
  const all = isOverview ? overview : storedPins;
  const move = (id: string, to: number) => {
    const from = all.findIndex((one) => one.id === id);
    const movedPin = all[from];
    if (movedPin !== undefined) setPins(all.toSpliced(from, 1).toSpliced(Math.max(0, to), 0, movedPin));
  };
  const next = all.findIndex(({ id }) => !loadedIds.has(id));
  if (isOverview && runs.data === undefined && runs.trouble === null) return <PageSkeleton />;
  return (
    <Page
      title="Dashboard"
      subtitle={formatSubtitle(all.length, isOverview)}
      actions={
        <>
          {all.length < PINS_MAX && <AddPart shown={all} />}
          {all.length > 0 && <Button onClick={() => setPins([])}>Clear</Button>}
          <RunChoice all={all} runs={summaries} />
        </>
      }
    >
      {all.length === 0 ? (
        <Empty />
      ) : (
        <>
          <PartRange runs={summaries} hasOwnRanges={all.some(hasOwnRange)} />
          <ul class="dashboard">
            {all.map((one, k) => (
              <PinCard
                key={one.id}
                one={one}
                all={all}
                runs={summaries}
                isNext={k === next}
                onLoad={() => setLoadedIds((before) => new Set([...before, one.id]))}
                onDrag={setDragged}
                onMove={(to) => move(one.id, to)}
                {...(dragged !== null && { onDrop: () => move(dragged, k) })}
              />
            ))}
          </ul>
        </>
      )}
    </Page>
  );
}

/** Renders the date range of all parts. Without a choice, each part has the range with which it was pinned. */
function PartRange({ runs, hasOwnRanges }: { readonly runs: Runs; readonly hasOwnRanges: boolean }) {
  const start = runs.map((run) => run.start).toSorted()[0];
  const end = runs
    .map((run) => run.end)
    .toSorted()
    .at(-1);
  return start === undefined || end === undefined ? null : <RangeBar {...{ start, end, hasOwnRanges }} />;
}

/** Returns true if a part was pinned with a date range. */
const hasOwnRange = ({ address }: Pin): boolean => new URLSearchParams(address.split('?')[1]).has('from');

interface PinCardProps extends PinButtonsProps {
  readonly runs: Runs;
  /** True for the first part that is not loaded. It is loaded even outside the window, so that a printout has all parts. */
  readonly isNext: boolean;
  onLoad(): void;
  /** Called with the id of the pin when dragging starts, and with null when it ends. */
  onDrag(id: string | null): void;
  /** Moves the dragged pin to the position of this card. Absent while no pin is dragged. */
  onDrop?(): void;
}

/** Height in pixels of the header and frame of a card, and of the gap below it. */
const CARD_REST = 64;

/**
 * Renders a pinned part with its header. It takes as many grid rows as it is high, so that the parts below it move up.
 */
function PinCard({ one, all, runs, isNext, onLoad, onMove, onDrag, onDrop }: PinCardProps) {
  const [height, setHeight] = useState(FIRST_HEIGHT);
  return (
    <li
      class="dashboard-pin"
      style={{ '--rows': height + CARD_REST, '--columns': 2 * one.width }}
      onDragOver={(event) => onDrop !== undefined && event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        onDrop?.();
        onDrag(null);
      }}
    >
      <header
        draggable
        onDragStart={(event) => {
          event.dataTransfer?.setData('text/plain', one.part);
          onDrag(one.id);
        }}
        onDragEnd={() => onDrag(null)}
      >
        <h2>
          <a href={one.address}>{formatTitle(one)}</a>{' '}
          {!one.part.toLowerCase().includes(one.page.toLowerCase()) && <span class="quiet">{one.page}</span>}{' '}
          <LagBadge one={one} runs={runs} />
        </h2>
        <PinButtons one={one} all={all} onMove={onMove} />
      </header>
      <PinFrame
        one={one}
        range={findChosenRange()}
        height={height}
        isEager={isNext}
        onLoad={onLoad}
        onHeight={setHeight}
      />
    </li>
  );
}

/**
 * Parts of an index page that can be added to the dashboard. Their names are those of the charts and tables on the
 * index page.
 */
const PARTS = [
  { text: 'Level', tab: 'performance', part: (id: string) => `Level of ${id}`, width: 2 },
  { text: 'Drawdown', tab: 'performance', part: () => 'Drawdown', width: 1 },
  { text: 'Figures', tab: 'performance', part: () => getPartName('Figures from 2000-01-01 to 2000-01-01'), width: 2 },
  { text: 'Constituents', tab: 'constituents', part: (id: string) => `constituents of ${id}`, width: 1 },
  { text: 'Rolling risk', tab: 'risk', part: () => 'Rolling risk', width: 2 },
  { text: 'Rebalances', tab: 'rebalances', part: (id: string) => `rebalances of ${id}`, width: 2 },
] as const;

/** Starter set, as positions in `PARTS`. */
const INITIAL_PARTS = [0, 2, 3, 1] as const;

const formatSubtitle = (parts: number, isOverview: boolean): string | undefined => {
  if (parts === 0) return undefined;
  return isOverview
    ? 'Overview of the newest runs. Move, remove or add parts: your arrangement is kept in this browser.'
    : `${countValues(parts, 'part')}, kept in this browser`;
};

const useRuns = () => useResource('summaries', (signal) => service.value.call('listSummaries', { signal }));

type Runs = readonly RunSummaryRow[];

/**
 * Returns runs sorted: first runs that are up to date, then stale runs, then runs on other stores. Within each group the
 * newest is first.
 */
const listNewest = (runs: Runs): Runs => {
  const rank = ({ stale }: RunSummaryRow) => (stale === null ? 0 : stale.store_id === null ? 1 : 2);
  return runs.toSorted((a, b) => rank(a) - rank(b) || ((a.run_at ?? '') < (b.run_at ?? '') ? 1 : -1));
};

function createNewPin(id: string, position: number): NewPin {
  const { tab, part, width } = PARTS[position]!; // `position` is a position in `PARTS`
  const address = formatAddress(formatIndexAddress(id), { tab: tab === 'performance' ? null : tab });
  return { address, part: part(id), page: id, width };
}

/** Maximum number of runs in the overview. */
const OVERVIEW_RUNS = 3;

/**
 * Creates the table of all indices, which has their state, and a comparison of the newest runs with the benchmark that
 * they share; if there is only one run, its level. Parts that share a row are equally high.
 */
function createOverview(runs: Runs): readonly NewPin[] {
  const ids = chooseOverviewRuns(listNewest(runs), OVERVIEW_RUNS);
  const [first] = ids;
  if (first === undefined) return [];
  const compareAddress = formatCompareAddress(ids, findSharedBenchmark(runs, ids));
  const page = 'after costs';
  return [
    { address: '/', part: 'indices', page: 'Indices', width: 3 },
    ...(ids.length === 1
      ? [0, 1].map((position) => ({ ...createNewPin(first, position), width: 3 as const }))
      : [
          { address: compareAddress, part: 'Levels compared', page, width: 3 as const },
          { address: compareAddress, part: 'Drawdowns compared', page, width: 1.5 as const },
          {
            address: compareAddress,
            part: 'Rolling volatility',
            page: `over 1 year, ${page}`,
            width: 1.5 as const,
          },
          { address: compareAddress, part: 'returns by calendar year', page, width: 3 as const },
        ]),
  ];
}

/** Renders an explanation of the page. Buttons add a first set of parts for all indices or for one index. */
function Empty() {
  const runs = useRuns().data?.summaries ?? [];
  const ids = listNewest(runs).map(({ index_id: id }) => id);
  return (
    <EmptyState
      title="Nothing is pinned yet"
      action={
        ids.length > 0 && (
          <>
            <Button kind="main" onClick={() => setPins(createOverview(runs).map(createPin))}>
              Start with an overview
            </Button>
            <AddSelect
              label="Start with an index"
              prompt="Start with an index"
              options={ids.map((id) => ({ value: id, text: id }))}
              onAdd={(id) => setPins(INITIAL_PARTS.map((position) => createPin(createNewPin(id, position))))}
            />
          </>
        )
      }
    >
      {ids.length > 0
        ? 'Start with all indices and a comparison of their runs, or with level, figures, constituents and drawdown of one index.'
        : 'Run an index first: its level, figures and constituents are then added here with one choice.'}{' '}
      To add a chart or table of another page, choose <strong>Pin to the dashboard</strong> in its menu (⋯) or under{' '}
      <strong>Views</strong> (the star above). Parts stay up to date and keep their range.
    </EmptyState>
  );
}

/** Renders a selector that adds a part of an index with a run to the dashboard. */
function AddPart({ shown }: { readonly shown: readonly Pin[] }) {
  const options = (useRuns().data?.summaries ?? []).flatMap(({ index_id: id }) =>
    PARTS.map(({ text }, k) => ({ value: `${k} ${id}`, text: `${id}: ${text}` })),
  );
  if (options.length === 0) return null;
  return (
    <AddSelect
      label="Add to the dashboard"
      prompt="+ Add"
      options={options}
      onAdd={(value) => {
        const [k = '', id = ''] = value.split(' ');
        setPins([...shown, createPin(createNewPin(id, Number(k)))]);
      }}
    />
  );
}

const WIDTHS = { 1: 'Width 1/3', 1.5: 'Width 1/2', 2: 'Width 2/3', 3: 'Full width' } as const;

/**
 * Width of a pinned part after its width button is pressed: the next larger width, and the smallest after the largest.
 */
const WIDER = { 1: 1.5, 1.5: 2, 2: 3, 3: 1 } as const;

/** Returns the name of a part without dates, such as `Constituents of CORE` or `Figures`. */
const formatTitle = ({ part }: Pin): string => {
  const text = part.replace(' from … to …', '');
  return text.charAt(0).toUpperCase() + text.slice(1);
};

interface PinButtonsProps {
  readonly one: Pin;
  /** All pins that are shown. */
  readonly all: readonly Pin[];
  onMove(to: number): void;
}

function PinButtons({ one, all, onMove }: PinButtonsProps) {
  const { part, width } = one;
  const position = all.indexOf(one);
  const change = (next: Pin['width']) =>
    setPins(all.map((other) => (other.id === one.id ? { ...other, width: next } : other)));
  return (
    <span class="dashboard-acts">
      <Button
        kind="bare"
        aria-label={`Move ${part} back`}
        disabled={position === 0}
        onClick={() => onMove(position - 1)}
      >
        <Icon name="up" />
      </Button>
      <Button
        kind="bare"
        aria-label={`Move ${part} on`}
        disabled={position === all.length - 1}
        onClick={() => onMove(position + 1)}
      >
        <Icon name="down" />
      </Button>
      <span class="dashboard-width">
        <Button
          kind="bare"
          aria-label={`${WIDTHS[width]}: ${part}`}
          title="Change the width"
          onClick={() => change(WIDER[width])}
        >
          {WIDTHS[width]}
        </Button>
      </span>
      <Button kind="bare" aria-label={`Remove ${part}`} onClick={() => setPins(all.filter(({ id }) => id !== one.id))}>
        <Icon name="close" />
      </Button>
    </span>
  );
}
