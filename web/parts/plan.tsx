/** When messages leave: a line of time with a mark for each send, and the same as a table on both clocks. */
import type { CampaignPlan } from '../../api/client.ts';
import { HOUR_MS } from '../../domain/time/durations.ts';
import { countText } from './values.tsx';
import { momentText, quietBetween, type QuietHours } from './zone-time.ts';

type PlannedSend = CampaignPlan['sends'][number];
type PlanClock = NonNullable<PlannedSend['clocks']>[number];

const [WIDTH, HEIGHT, LOWEST, HIGHEST] = [720, 64, 4, 24];

export function Plan({
  sends,
  zone,
  quietHours,
}: {
  sends: readonly PlannedSend[];
  /** The zone of the person who looks. */
  zone: string;
  quietHours: QuietHours | null;
}) {
  return (
    <div className="tight">
      <PlanLine sends={sends} zone={zone} quietHours={quietHours} />
      <div className="scroll" tabIndex={0} role="region" aria-label="Sends">
        <table className="cards">
          <caption className="sr">Sends in order of time</caption>
          <thead>
            <tr>
              <th scope="col">Your zone</th>
              <th scope="col">Their clocks</th>
              <th scope="col" className="num">
                Devices
              </th>
            </tr>
          </thead>
          <tbody>
            {sends.map((send) => (
              <tr key={keyOf(send)}>
                <td data-label="Your zone">
                  <span>{whenText(send, zone)}</span>
                </td>
                <td data-label="Their clocks">
                  <span>
                    {clocksText(send).map((line) => (
                      <span key={line} className="block">
                        {line}
                      </span>
                    ))}
                  </span>
                </td>
                <td data-label="Devices" className="num">
                  <span>{send.devices === null ? 'not known yet' : countText(send.devices)}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

const keyOf = ({ at, until, zones }: PlannedSend): string => `${at} ${until} ${zones?.join(' ')}`;

/** Returns the first and the last moment of a send: after quiet hours, at the rate of the app. */
function momentsOf({ at, until, leaves_from: from, leaves_until: last }: PlannedSend): [number, number] {
  return [Date.parse(from ?? at), Date.parse(until ?? last ?? at)];
}

function whenText(send: PlannedSend, zone: string): string {
  return spanText(...momentsOf(send), zone);
}

/** Returns two moments as `Thu 26 Nov, 18:00 to 18:02`, or one of them if they show the same minute. */
function spanText(first: number, last: number, zone: string): string {
  const [begins, ends] = [momentText(first, zone), momentText(last, zone)];
  if (begins === ends) return begins;
  const [day, time] = ends.split(', ') as [string, string];
  return `${begins} to ${begins.startsWith(day) ? time : ends}`;
}

const MOST_ZONES = 4;
const MOST_TIMES = 6;

/** Returns a line for each time that clocks show: `Europe/Paris, Europe/Brussels: 26 Nov 18:00`. */
function clocksText(send: PlannedSend): string[] {
  const { clocks, zones } = send;
  if (clocks === null) return [zones === null ? 'one moment for all' : namesOf(zones)];
  const lines = [...Map.groupBy(clocks, localText)].map(([time, all]) => {
    const isMoved = all.some(({ at, leaves_from: from }) => from !== null && !from.startsWith(at.slice(0, 16)));
    const asked = isMoved ? `, not ${localTime(all[0]!.at)}` : '';
    return `${namesOf(all.map(({ zone }) => zone))}: ${time}${asked}`;
  });
  const more = lines.length - MOST_TIMES;
  return more > 1 ? [...lines.slice(0, MOST_TIMES), `and ${more} more times`] : lines;
}

function namesOf(zones: readonly string[]): string {
  const more = zones.length - MOST_ZONES;
  const named = (more > 0 ? zones.slice(0, MOST_ZONES) : zones).join(', ').replaceAll('_', ' ');
  return more > 0 ? `${named} and ${more} more` : named;
}

/** Returns the first and, if it shows another minute, the last moment on a device's own clock. */
function localText({ at, leaves_from: from, leaves_until: until }: PlanClock): string {
  const [first, last] = [from ?? at, until ?? from ?? at].map((local) => Date.parse(`${local}Z`));
  return spanText(first!, last!, 'UTC');
}

/** Returns `2026-11-26T18:00:00` as `Thu 26 Nov, 18:00`. */
const localTime = (local: string): string => momentText(`${local}Z`, 'UTC');

type X = (at: number) => number;

function PlanLine({
  sends,
  zone,
  quietHours,
}: {
  sends: readonly PlannedSend[];
  zone: string;
  quietHours: QuietHours | null;
}) {
  const moments = sends.flatMap((send) => [Date.parse(send.at), ...momentsOf(send)]);
  const [first, last] = [Math.min(...moments), Math.max(...moments)];
  const margin = Math.max(HOUR_MS, (last - first) / 12);
  const [from, to] = [Math.floor((first - margin) / HOUR_MS) * HOUR_MS, last + margin];
  const x: X = (at) => Math.round((WIDTH * (at - from)) / (to - from));
  const most = Math.max(1, ...sends.map(({ devices }) => devices ?? 0));
  return (
    <figure className="plan">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`In ${zone}: ${sends.map((send) => sayMark(send, zone)).join('; ')}`}
      >
        <rect className="f-sunken" width={WIDTH} height={HEIGHT} rx="4" />
        {quietHours &&
          quietBetween(quietHours, from, to).map(([begins, ends]) => (
            <rect key={begins} className="f-line" x={x(begins)} width={x(ends) - x(begins)} height={HEIGHT}>
              <title>{`Quiet hours in ${quietHours.timezone}`}</title>
            </rect>
          ))}
        {sends.map((send) => (
          <Mark key={keyOf(send)} send={send} x={x} most={most} zone={zone} />
        ))}
      </svg>
      <p className="small quiet ends">
        <span>{momentText(from, zone)}</span>
        <span>{quietHours === null ? zone : `${zone}; quiet hours are dark`}</span>
        <span>{momentText(to, zone)}</span>
      </p>
    </figure>
  );
}

function sayMark(send: PlannedSend, zone: string): string {
  return `${whenText(send, zone)}${send.devices === null ? '' : ` to ${countText(send.devices)} devices`}`;
}

/** Draws a send: a dot of the size of its devices, with a line to the last of them; an empty one where it was meant. */
function Mark({ send, x, most, zone }: { send: PlannedSend; x: X; most: number; zone: string }) {
  const [first, last] = momentsOf(send).map(x) as [number, number];
  const asked = x(Date.parse(send.at));
  const radius = LOWEST + (HIGHEST - LOWEST) * Math.sqrt((send.devices ?? 0) / most);
  const middle = HEIGHT / 2;
  return (
    <g>
      <title>{sayMark(send, zone)}</title>
      {first > asked && (
        <>
          <circle className="waits" cx={asked} cy={middle} r={radius} />
          <path className="waits" d={`M${asked + radius} ${middle}H${Math.max(asked + radius, first - radius)}`} />
        </>
      )}
      {last > first && <rect className="f-accent" x={first} y={middle - 4} width={last - first} height="8" rx="4" />}
      <circle className="f-accent" cx={first} cy={middle} r={radius} />
    </g>
  );
}
