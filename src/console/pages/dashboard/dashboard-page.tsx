import './dashboard.css';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RunSummaryRow } from '#clients/typescript/divisor.js';
import type { ValueRange } from '../../components/chart/series.js';
import { Button, Icon, Popover } from '../../components/controls/button.js';
import { AddSelect, Toggles } from '../../components/controls/choice.js';
import { findChosenRange, RangeBar } from '../../components/controls/range.js';
import { Badge, EmptyState, PageSkeleton } from '../../components/feedback.js';
import { getPartName, Page } from '../../components/layout/page.js';
import { formatAddress } from '../../state/location.js';
import { describeRunLag } from '../../state/runs.js';
import { createPin, isArranged, type NewPin, type Pin, pins, PINS_MAX, setPins } from '../../state/saved.js';
import { useList } from '../../state/service.js';
import { formatCompareAddress, formatIndexAddress } from '../../words/addresses.js';
import { countValues } from '../../words/numbers.js';
import {
  chooseOverviewRuns,
  findComparedRuns,
  findSharedBenchmark,
  listRuns,
  replaceComparedRuns,
} from './compared-runs.js';

interface LagBadgeProps {
  readonly one: Pin;
  readonly runs: readonly RunSummaryRow[];
}

/** Marks a part with the first state of its runs that is not current. The other states are in its title. */
function LagBadge({ one, runs }: LagBadgeProps) {
  const ids = listRuns(one);
  const lags = runs
    .filter(({ index_id: id }) => ids.includes(id))
    .toSorted((a, b) => Number(a.stale === null) - Number(b.stale === null))
    .flatMap(({ index_id: id, stale, store_id: store }) => {
      const lag = describeRunLag(stale, store);
      return lag === null ? [] : [{ text: lag.text, title: `${id}: ${lag.title}` }];
    });
  if (lags.length === 0) return null;
  return (
    <Badge kind="warning" title={lags.map(({ title }) => title).join('\n')}>
      {lags[0]?.text}
    </Badge>
  );
}

/**
 * Prints a copy of the part in a frame instead of the frame: a frame is not split between pages, and its height is
 * that of the part on the screen.
 * @param paper empty element after the frame, which is visible only in print
 * @returns a function that stops this
 */
function printPartOf(frame: HTMLIFrameElement, paper: HTMLElement): () => void {
  // A frame of an unreachable service has no document that this page may use.
  const notify = (type: string) => {
    if (frame.contentDocument !== null) frame.contentWindow?.dispatchEvent(new Event(type));
  };
  const start = () => {
    notify('beforeprint');
    // The charts of the frame draw themselves in earlier microtasks.
    queueMicrotask(() => {
      const part = frame.contentDocument?.querySelector('[data-way=end]');
      if (part != null) paper.replaceChildren(copyElement(part));
    });
  };
  const stop = () => {
    paper.replaceChildren();
    notify('afterprint');
  };
  addEventListener('beforeprint', start);
  addEventListener('afterprint', stop);
  return () => {
    removeEventListener('beforeprint', start);
    removeEventListener('afterprint', stop);
  };
}

/** Copies an element with the drawings of its canvases. */
function copyElement(element: Element): Element {
  const copy = document.importNode(element, true);
  const canvases = element.querySelectorAll('canvas');
  for (const [k, canvas] of copy.querySelectorAll('canvas').entries()) {
    const drawing = canvases[k]!; // the copy has the same elements
    if (drawing.width > 0 && drawing.height > 0) canvas.getContext('2d')?.drawImage(drawing, 0, 0);
  }
  return copy;
}

/** Height in pixels before the content is loaded, and maximum height. Content that is higher scrolls. */
const FIRST_HEIGHT = 220;
const HEIGHT_MAX = 640;
/** Time in ms after which a frame that shows an error page of the browser or of a proxy is loaded again. */
const RETRY_MS = 2000;

interface PinFrameProps {
  readonly one: Pin;
  /** Date range of all parts; null if each part has its own. */
  readonly range: ValueRange | null;
  readonly height: number;
  /** True if the frame is loaded even if it is far outside the window. */
  readonly isEager: boolean;
  onLoad(): void;
  onHeight(height: number): void;
}

/** Renders the pinned part of its page in an iframe. The frame is as high as its content. */
function PinFrame({ one, range, height, isEager, onLoad, onHeight }: PinFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const paper = useRef<HTMLDivElement>(null);
  const [loads, setLoads] = useState(0);
  const [failures, setFailures] = useState(0);
  const [isShown, setShown] = useState(false);
  const address = formatFrameAddress(one, range);
  const source = useRef(address);
  // A loaded frame changes its address itself. It keeps its page, and the history gets no entry.
  if (loads === 0) source.current = address;
  useEffect(() => {
    const view = frame.current?.contentWindow;
    if (loads === 0 || view == null) return;
    view.history.replaceState(null, '', address);
    view.dispatchEvent(new PopStateEvent('popstate'));
  }, [address, loads]);
  useEffect(() => {
    if (failures === 0) return undefined;
    const timer = setTimeout(() => frame.current?.contentWindow?.location.replace(source.current), RETRY_MS);
    return () => clearTimeout(timer);
  }, [failures]);
  useEffect(() => printPartOf(frame.current!, paper.current!), []); // both are rendered
  useEffect(() => {
    const body = frame.current?.contentDocument?.getElementById('main');
    if (body == null) return undefined;
    const observer = new ResizeObserver(() => {
      if (body.scrollHeight === 0) return;
      onHeight(Math.min(HEIGHT_MAX, body.scrollHeight));
      // The page marks the part after it was rendered.
      setShown(body.querySelector('[data-way=end]') !== null);
    });
    observer.observe(body);
    return () => observer.disconnect();
  }, [loads]);
  return (
    <>
      <iframe
        ref={frame}
        class={loads > 0 ? '' : 'skeleton'}
        aria-busy={!isShown}
        title={`${one.part}, ${one.page}`}
        src={source.current}
        loading={isEager ? 'eager' : 'lazy'}
        style={{ height: `${height}px` }}
        onLoad={() => {
          if (isConsole(frame.current)) setLoads((before) => before + 1);
          else setFailures((before) => before + 1);
          onLoad();
        }}
      />
      <div class="dashboard-paper" ref={paper} />
    </>
  );
}

/** Returns true for a page of the console. The script of another page, such as that of an unreachable service, is closed to this one. */
const isConsole = (frame: HTMLIFrameElement | null): boolean => frame?.contentDocument?.getElementById('app') != null;

/** Returns the address of the page of a part, with the part and the date range. */
function formatFrameAddress({ address, part }: Pin, range: ValueRange | null): string {
  const [path, text = ''] = address.split('?');
  const query = new URLSearchParams(text);
  query.set('part', part);
  if (range !== null) {
    query.set('from', range.from);
    query.set('to', range.to);
  }
  return `${path}?${query.toString()}`;
}

/** Numbers of compared runs. The tables of returns of at most five runs fit into half of the width. */
const RUNS_MIN = 2;
const RUNS_MAX = 5;

interface RunChoiceProps {
  /** All parts that are shown. */
  readonly all: readonly Pin[];
  /** Runs of the indices and strategies. */
  readonly runs: readonly RunSummaryRow[];
}

/** Renders the number of compared runs as a button that opens a choice of the runs. */
function RunChoice({ all, runs }: RunChoiceProps) {
  const ids = runs.map(({ index_id: id }) => id);
  const chosenIds = findComparedRuns(all)?.filter((id) => ids.includes(id)) ?? [];
  if (chosenIds.length === 0 || ids.length <= RUNS_MIN) return null;
  const title = `${chosenIds.length} of ${ids.length} runs`;
  return (
    <Popover label={`Runs compared: ${title}`} title={title}>
      {() => (
        <Toggles
          label="Runs compared"
          values={ids}
          chosen={chosenIds}
          most={RUNS_MAX}
          onChoose={(next) => next.length >= RUNS_MIN && setPins(replaceComparedRuns(all, next, runs))}
        />
      )}
    </Popover>
  );
}

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
          <ul class="pile dashboard">
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
      class="stack frame gap-1 dashboard-pin"
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

const useRuns = () => useList('summaries');

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
