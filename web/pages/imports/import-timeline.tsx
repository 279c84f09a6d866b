import { Link } from '@tanstack/react-router';
import type { ImportProgress } from '../../../api/client.ts';
import type { Tone } from '../../parts/balance.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Timeline, type TimelineEntry } from '../../parts/timeline.tsx';
import { bytesText, countText, durationText } from '../../parts/values.tsx';
import { rowsText } from './import-state.tsx';

/** The story of an import, from its reception to its re-drives. */
export function ImportTimeline({ job }: { job: ImportProgress }) {
  const { received_at: received, started_at: started, source } = job;
  const size = source.bytes === null ? '' : `${bytesText(source.bytes)} `;
  const entries: TimelineEntry[] = [
    { at: received, title: 'Received', more: source.url === null ? `${size}by upload` : `${size}from ${source.url}` },
    ...(started === null
      ? []
      : [
          {
            at: started,
            title: 'Started',
            ...(source.decompressed_bytes === null
              ? {}
              : { more: `the copy that is read: ${bytesText(source.decompressed_bytes)}` }),
          },
        ]),
    ...endOf(job),
    ...mailOf(job),
    ...job.redrives.map(redriveOf),
  ];
  return (
    <Panel title="What happened">
      <div className="body">
        <Timeline entries={entries} />
      </div>
    </Panel>
  );
}

const ENDS = {
  finished: ['Finished', 'ok'],
  failed: ['Failed', 'bad'],
  canceled: ['Canceled', 'neutral'],
} as const satisfies Partial<Record<ImportProgress['state'], [string, Tone]>>;

function endOf({
  state,
  ended_at: ended,
  started_at: started,
  rate,
  rows,
  next_line: nextLine,
}: ImportProgress): TimelineEntry[] {
  if (state === 'accepted' || state === 'running') {
    return [
      { at: null, title: state === 'running' ? `At line ${countText(nextLine)}` : 'Not started yet', tone: 'info' },
    ];
  }
  const [title, tone] = ENDS[state];
  const took = started === null || ended === null ? '' : durationText(Date.parse(ended) - Date.parse(started));
  const speed = rate === null || rows.read < 1_000 ? '' : `, ${countText(Math.round(rate))} rows a second`;
  return [{ at: ended, title, tone, more: `${took}${speed}` }];
}

const MAILS = {
  sending: ['Mail is sent', 'info'],
  sent: ['Mail sent', 'ok'],
  filed: ['Mail filed: there is no mail server', 'neutral'],
  not_sent: ['Mail not sent', 'warn'],
  unknown: ['Mail: unknown whether it left', 'unknown'],
} as const satisfies Record<NonNullable<ImportProgress['mail']>['state'], [string, Tone]>;

function mailOf({ mail }: ImportProgress): TimelineEntry[] {
  if (mail === null) return [];
  const [title, tone] = MAILS[mail.state];
  const more = [...(mail.tries > 1 ? [`${mail.tries} tries`] : []), ...(mail.reason === null ? [] : [mail.reason])];
  return [{ title, tone, ...(more.length === 0 ? {} : { more: more.join(': ') }) }];
}

function redriveOf({ import_id: id, state, rows, received_at: at }: ImportProgress['redrives'][number]): TimelineEntry {
  return {
    at,
    title: 'Re-driven',
    tone: 'accent',
    more: (
      <>
        <Link className="mono" to={`/imports/${id}`}>
          {id}
        </Link>
        : {rowsText(rows.read)}, {countText(rows.ok)} ok, {countText(rows.ignored + rows.failed)} refused
        {(state === 'accepted' || state === 'running') && ', not ended yet'}
      </>
    ),
  };
}
