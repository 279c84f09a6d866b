/** A segment of the people of a funnel's step: its name, then how many people it holds. */
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Dialog, FormEnd } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Shown } from '../../parts/panel.tsx';
import { textOf } from '../../parts/text-of.ts';
import { Count } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import type { Asked } from './use-counts.ts';
import { type AskedStep, type CountedFunnel, stepName } from './words.ts';

export function StepSegment({
  funnel,
  funnelId,
  asked: { app_id: app, from, till },
  of: { step, outcome },
  onClose,
}: {
  funnel: CountedFunnel;
  funnelId: string;
  asked: Asked;
  of: AskedStep;
  onClose: () => void;
}) {
  const [made, setMade] = useState<string | null>(null);
  const create = useAction('createSegment', {
    changes: ['listSegments'],
    onDone: ({ identifier }) => setMade(identifier),
  });
  const stopped = stepName(funnel.steps[outcome === 'dropped' ? step - 1 : step]!);
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const filter = {
      filter_on: 'funnels' as const,
      funnel_identifier: funnelId,
      step,
      outcome,
      period: { from, till },
    };
    const name = textOf(event.currentTarget, 'name');
    create.mutate({ body: { name, app, filters: { blocks: [{ filters: [filter] }] } } });
  };
  return (
    <Dialog title="Make a segment of them" onClose={onClose}>
      {made === null ? (
        <form onSubmit={send} className="stack">
          <p className="second">
            People who stopped after “{stopped}” between {from} and {till}. Campaigns and other segments can name it.
          </p>
          <Field label="Name" name="name" defaultValue={`Stopped after ${stopped}`} maxLength={200} required />
          <FormEnd refusal={create.error} isOff={create.isPending} onClose={onClose}>
            Make the segment
          </FormEnd>
        </form>
      ) : (
        <Made segment={made} onClose={onClose} />
      )}
    </Dialog>
  );
}

function Made({ segment, onClose }: { segment: string; onClose: () => void }) {
  const read = useRead(
    'viewSegment',
    { params: { identifier: segment } },
    { pollWhile: ({ state }) => state === 'computing' },
  );
  return (
    <>
      <Shown result={read}>
        {({ name, state, preview, failure }) => (
          <p role="status">
            <Link to={`/segments/${segment}`}>{name}</Link>{' '}
            {state === 'computing' && 'is made. Its people are being counted.'}
            {state === 'failed' && `could not be counted: ${failure ?? 'for an unknown reason'}`}
            {state === 'active' && preview && (
              <>
                has <Count value={preview.people_number} /> people.
              </>
            )}
          </p>
        )}
      </Shown>
      <div className="filters">
        <button type="button" className="btn" onClick={onClose}>
          Close
        </button>
      </div>
    </>
  );
}
