import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { Icon } from '../../components/icon.js';
import { Page } from '../../components/page.js';
import { pins, setPins, type Pin } from '../../state/dashboard.js';
import { countValues } from '../../words/numbers.js';
import './dashboard.css';

/** Page of pinned charts, tables and figures of other pages. */
export function DashboardPage() {
  const all = pins.value;
  const [dragged, setDragged] = useState<string | null>(null);
  const move = (id: string, to: number) => {
    const from = all.findIndex((one) => one.id === id);
    const one = all[from];
    if (one !== undefined) setPins(all.toSpliced(from, 1).toSpliced(Math.max(0, to), 0, one));
  };
  return (
    <Page
      title="Dashboard"
      subtitle={all.length === 0 ? undefined : `${countValues(all.length, 'part')}, kept in this browser`}
    >
      {all.length === 0 ? (
        <EmptyState title="Nothing is pinned yet">
          Open a page, choose <strong>Views</strong> (the star) in the bar above, and pin any of its charts, tables or
          figures. It is shown here with its range and choices, and stays up to date.
        </EmptyState>
      ) : (
        <ul class="dashboard">
          {all.map((one, k) => (
            <li
              key={one.id}
              class={`dashboard-pin wide-${one.width}`}
              onDragOver={(event) => dragged !== null && event.preventDefault()}
              onDrop={(event) => {
                event.preventDefault();
                if (dragged !== null) move(dragged, k);
                setDragged(null);
              }}
            >
              <header
                draggable
                onDragStart={(event) => {
                  event.dataTransfer?.setData('text/plain', one.part);
                  setDragged(one.id);
                }}
                onDragEnd={() => setDragged(null)}
              >
                <h2>
                  <a href={one.address}>{one.part}</a> <span class="quiet">{one.page}</span>
                </h2>
                <PinButtons one={one} at={k} last={all.length - 1} onMove={(to) => move(one.id, to)} />
              </header>
              <PinFrame one={one} />
            </li>
          ))}
        </ul>
      )}
    </Page>
  );
}

interface PinButtonsProps {
  readonly one: Pin;
  readonly at: number;
  readonly last: number;
  onMove(to: number): void;
}

function PinButtons({ one, at, last, onMove }: PinButtonsProps) {
  const { part, width } = one;
  const change = (next: Pin['width']) =>
    setPins(pins.value.map((other) => (other.id === one.id ? { ...other, width: next } : other)));
  return (
    <span class="dashboard-acts">
      <Button kind="bare" aria-label={`Move ${part} back`} disabled={at === 0} onClick={() => onMove(at - 1)}>
        <Icon name="up" />
      </Button>
      <Button kind="bare" aria-label={`Move ${part} on`} disabled={at === last} onClick={() => onMove(at + 1)}>
        <Icon name="down" />
      </Button>
      <Button
        kind="bare"
        aria-label={`Width of ${part}: ${width} of 3 columns`}
        title="Change the width"
        onClick={() => change(width === 3 ? 1 : width === 2 ? 3 : 2)}
      >
        {width}/3
      </Button>
      <Button
        kind="bare"
        aria-label={`Remove ${part}`}
        onClick={() => setPins(pins.value.filter(({ id }) => id !== one.id))}
      >
        <Icon name="close" />
      </Button>
    </span>
  );
}

/** Heights in pixels before the content is known, and above which it scrolls. */
const FIRST_HEIGHT = 220;
const HEIGHT_MAX = 640;

/** Renders the part in a separate page with its address and range; as high as its content. */
function PinFrame({ one }: { readonly one: Pin }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(FIRST_HEIGHT);
  const [loads, setLoads] = useState(0);
  useEffect(() => {
    const body = frame.current?.contentDocument?.getElementById('main');
    if (body == null) return undefined;
    const observer = new ResizeObserver(
      () => body.scrollHeight > 0 && setHeight(Math.min(HEIGHT_MAX, body.scrollHeight)),
    );
    observer.observe(body);
    return () => observer.disconnect();
  }, [loads]);
  const [path, query = ''] = one.address.split('?');
  const address = new URLSearchParams(query);
  address.set('part', one.part);
  return (
    <iframe
      ref={frame}
      title={`${one.part}, ${one.page}`}
      src={`${path}?${address.toString()}`}
      loading="lazy"
      style={{ height: `${height}px` }}
      onLoad={() => setLoads((before) => before + 1)}
    />
  );
}
