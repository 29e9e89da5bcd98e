import type { RunSummaryRow } from '#clients/typescript/divisor.js';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { AddSelect } from '../../components/add-select.js';
import { Button } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { Icon } from '../../components/icon.js';
import { Page } from '../../components/page.js';
import { PageSkeleton } from '../../components/skeleton.js';
import { createPin, isArranged, pins, PINS_MAX, setPins, type NewPin, type Pin } from '../../state/dashboard.js';
import { getPartName } from '../../state/part.js';
import { formatAddress } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatCompareAddress, formatIndexAddress } from '../../words/addresses.js';
import { countValues } from '../../words/numbers.js';
import { RunChoice } from './run-choice.js';
import './dashboard.css';

/**
 * Page of charts, tables and figures that were pinned on other pages. Before the first change it shows an overview of the
 * newest runs.
 */
export function DashboardPage() {
  const runs = useRuns();
  const [dragged, setDragged] = useState<string | null>(null);
  const storedPins = pins.value;
  const isOverview = storedPins.length === 0 && !isArranged();
  const overview = useMemo(() => createOverview(runs.data?.summaries ?? []).map(createPin), [runs.data]);
  const all = isOverview ? overview : storedPins;
  const move = (id: string, to: number) => {
    const from = all.findIndex((one) => one.id === id);
    const movedPin = all[from];
    if (movedPin !== undefined) setPins(all.toSpliced(from, 1).toSpliced(Math.max(0, to), 0, movedPin));
  };
  if (isOverview && runs.data === undefined && runs.trouble === null) return <PageSkeleton />;
  return (
    <Page
      title="Dashboard"
      subtitle={formatSubtitle(all.length, isOverview)}
      actions={
        <>
          {all.length < PINS_MAX && <AddPart shown={all} />}
          {all.length > 0 && <Button onClick={() => setPins([])}>Clear</Button>}
          <RunChoice all={all} ids={(runs.data?.summaries ?? []).map(({ index_id: id }) => id)} />
        </>
      }
    >
      {all.length === 0 ? (
        <Empty />
      ) : (
        <ul class="dashboard">
          {all.map((one, k) => (
            <PinCard
              key={one.id}
              one={one}
              all={all}
              onDrag={setDragged}
              onMove={(to) => move(one.id, to)}
              {...(dragged !== null && { onDrop: () => move(dragged, k) })}
            />
          ))}
        </ul>
      )}
    </Page>
  );
}

interface PinCardProps extends PinButtonsProps {
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
function PinCard({ one, all, onMove, onDrag, onDrop }: PinCardProps) {
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
          {!one.part.toLowerCase().includes(one.page.toLowerCase()) && <span class="quiet">{one.page}</span>}
        </h2>
        <PinButtons one={one} all={all} onMove={onMove} />
      </header>
      <PinFrame one={one} height={height} onHeight={setHeight} />
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
 * Returns runs sorted: first runs on the served store, then runs on other stores. Within each group the newest is
 * first.
 */
const listNewest = (runs: Runs): Runs => {
  const isElsewhere = ({ stale }: RunSummaryRow) => Number(stale?.store_id != null);
  return runs.toSorted((a, b) => isElsewhere(a) - isElsewhere(b) || ((a.run_at ?? '') < (b.run_at ?? '') ? 1 : -1));
};

function createNewPin(id: string, position: number): NewPin {
  const { tab, part, width } = PARTS[position]!; // `position` is a position in `PARTS`
  const address = formatAddress(formatIndexAddress(id), { tab: tab === 'performance' ? null : tab });
  return { address, part: part(id), page: id, width };
}

/** Maximum number of runs in the overview. The returns of three runs by year fit into half of the width. */
const OVERVIEW_RUNS = 3;

/**
 * Creates a comparison of the newest runs with the same return variant; if there is only one run, its level. The table
 * of all indices follows.
 */
function createOverview(runs: Runs): readonly NewPin[] {
  const newest = listNewest(runs);
  const ids = newest
    .filter(({ return_variant: variant }) => variant === newest[0]?.return_variant)
    .map(({ index_id: id }) => id);
  const [first] = ids;
  if (first === undefined) return [];
  const compareAddress = formatCompareAddress(ids.slice(0, OVERVIEW_RUNS));
  const page = 'portfolios after costs';
  return [
    ...(ids.length === 1
      ? [createNewPin(first, 0), createNewPin(first, 1)]
      : [
          { address: compareAddress, part: 'Levels compared', page, width: 1.5 as const },
          { address: compareAddress, part: 'Drawdowns compared', page, width: 1.5 as const },
          { address: compareAddress, part: 'returns by calendar year', page, width: 1.5 as const },
          { address: compareAddress, part: 'Rolling volatility', page, width: 1.5 as const },
        ]),
    { address: '/', part: 'indices', page: 'Indices', width: 3 },
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

const WIDTHS = { 1: 'Narrow', 1.5: 'Half', 2: 'Medium', 3: 'Wide' } as const;

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
      <Button
        kind="bare"
        aria-label={`${WIDTHS[width]}: width of ${part}`}
        title="Change the width"
        onClick={() => change(WIDER[width])}
      >
        {WIDTHS[width]}
      </Button>
      <Button kind="bare" aria-label={`Remove ${part}`} onClick={() => setPins(all.filter(({ id }) => id !== one.id))}>
        <Icon name="close" />
      </Button>
    </span>
  );
}

/** Height in pixels before the content is loaded, and maximum height. Content that is higher scrolls. */
const FIRST_HEIGHT = 220;
const HEIGHT_MAX = 640;

interface PinFrameProps {
  readonly one: Pin;
  readonly height: number;
  onHeight(height: number): void;
}

/**
 * Renders the pinned part in an iframe. Its address is that of its page, with its date range. The frame is as high as
 * its content.
 */
function PinFrame({ one, height, onHeight }: PinFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [loads, setLoads] = useState(0);
  const [isShown, setShown] = useState(false);
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
  const [path, query = ''] = one.address.split('?');
  const address = new URLSearchParams(query);
  address.set('part', one.part);
  return (
    <iframe
      ref={frame}
      class={loads > 0 ? '' : 'skeleton'}
      aria-busy={!isShown}
      title={`${one.part}, ${one.page}`}
      src={`${path}?${address.toString()}`}
      loading="lazy"
      style={{ height: `${height}px` }}
      onLoad={() => setLoads((before) => before + 1)}
    />
  );
}
