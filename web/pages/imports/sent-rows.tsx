/** Corrected rows that were sent: how their import goes, and what came of it. */
import { Link } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { Icon } from '../../parts/icon.tsx';
import { useRead } from '../../session/calls.ts';
import { queries } from '../../session/session.tsx';
import { hasEnded, rowsText } from './import-state.tsx';

export function SentRows({
  id,
  count,
  onEnd,
  onClose,
}: {
  id: string;
  count: number;
  /** Hears once how it ended: true if every row came in. */
  onEnd: (isAllOk: boolean) => void;
  /** Takes the note away; `isStale`: the open rows are others now. */
  onClose: (isStale: boolean) => void;
}) {
  const { data: job } = useRead('viewImport', { params: { import_id: id } }, { pollWhile: (read) => !hasEnded(read) });
  const isOver = job !== undefined && job.import_id === id && hasEnded(job);
  const isAllOk = isOver && job.state === 'finished' && job.rows.ok === job.rows.read && job.rows.read > 0;
  const heard = useRef<string>(null);
  useEffect(() => {
    if (!isOver || heard.current === id) return;
    heard.current = id;
    onEnd(isAllOk);
    void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[1] === 'viewImport' });
  }, [id, isOver, isAllOk, onEnd]);
  const link = (
    <Link className="mono" to={`/imports/${id}`}>
      {id}
    </Link>
  );
  if (!isOver) {
    return (
      <p className="note info sent" role="status">
        <Icon name="clock" />
        <span>
          {rowsText(count)} sent, as {link}. It has not ended yet.
        </span>
      </p>
    );
  }
  const refused = job.rows.ignored + job.rows.failed;
  const [would, did] = job.dry_run ? ['would come in', 'Dry run, nothing was changed'] : ['came in', 'Re-driven'];
  return (
    <p className={`note ${isAllOk ? 'ok' : 'warn'} sent`} role="status">
      <Icon name={isAllOk ? 'check' : 'crash'} />
      <span>
        {did}: {rowsText(job.rows.ok)} {would}
        {refused > 0 && `, ${rowsText(refused)} ${job.dry_run ? 'would be refused' : 'refused again'}`}. See {link}
        {job.failure !== null && `: ${job.failure}`}.{' '}
        <button type="button" className="link" onClick={() => onClose(!job.dry_run && !isAllOk)}>
          {job.dry_run || isAllOk ? 'Close' : 'Read the open rows again'}
        </button>
      </span>
    </p>
  );
}
