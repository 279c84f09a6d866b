/** Decisions on a privacy request: approve, decline, start again. */
import { type FormEvent, useId, useState } from 'react';
import type { ListedGdprRequest } from '../../../api/client.ts';
import { DECLINE_REASONS, type DeclineReason } from '../../../domain/gdpr/gdpr-codes.ts';
import { ActionButton } from '../../parts/button.tsx';
import { Confirm, Dialog, FormEnd } from '../../parts/dialog.tsx';
import { textOf } from '../../parts/text-of.ts';
import { useAction } from '../../session/calls.ts';
import { isGivenUp, peopleText } from './request-state.tsx';

type Decision = 'approve' | 'decline';

/** Offers what can be decided on the request; nothing for one that goes on by itself. */
export function Decide({ request }: { request: ListedGdprRequest }) {
  const [asked, setAsked] = useState<Decision | null>(null);
  if (request.state !== 'waiting' && !isGivenUp(request)) return null;
  return (
    <span className="filters">
      <ActionButton
        operation="approveGdprRequest"
        kind={request.type === 'delete' ? 'danger' : ''}
        onPress={() => setAsked('approve')}
      >
        {request.state === 'waiting' ? 'Approve' : 'Start again'}
      </ActionButton>
      {request.state === 'waiting' && (
        <ActionButton operation="declineGdprRequest" onPress={() => setAsked('decline')}>
          Decline
        </ActionButton>
      )}
      {asked === 'approve' && <Approve request={request} onClose={() => setAsked(null)} />}
      {asked === 'decline' && <Decline request={request} onClose={() => setAsked(null)} />}
    </span>
  );
}

const changes = ['listGdprRequests', 'listPersonalDataLocations'] as const;

function Approve({ request, onClose }: { request: ListedGdprRequest; onClose: () => void }) {
  const approve = useAction('approveGdprRequest', { changes, onDone: onClose });
  const { request_id: id, type, people } = request;
  const isDeletion = type === 'delete';
  return (
    <Confirm
      title={isDeletion ? `Delete all data of ${peopleText(people.asked)}?` : 'Start the request again?'}
      says={
        isDeletion
          ? 'Millrace erases it in every location, and refuses their data from then on. It cannot be undone. People on hold wait for the release.'
          : 'Millrace writes the archives once more.'
      }
      {...(isDeletion ? { word: String(people.asked) } : {})}
      action={isDeletion ? 'Approve the deletion' : 'Start it again'}
      isBusy={approve.isPending}
      refusal={approve.error}
      onConfirm={() => approve.mutate({ params: { request_id: id } })}
      onClose={onClose}
    />
  );
}

const REASONS: Record<DeclineReason, string> = {
  not_identified: 'The person did not prove who they are',
  legal_obligation: 'The law obliges us to keep the data',
  legal_claims: 'The data is needed for legal claims',
  public_interest: 'Public interest',
  excessive: 'Unfounded or excessive',
  withdrawn: 'The person withdrew the request',
  other: 'Another reason',
};

function Decline({ request, onClose }: { request: ListedGdprRequest; onClose: () => void }) {
  const decline = useAction('declineGdprRequest', { changes, onDone: onClose });
  const field = useId();
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const reason = DECLINE_REASONS.find((each) => each === textOf(event.currentTarget, 'reason'));
    decline.mutate({ params: { request_id: request.request_id }, body: { reason } });
  };
  return (
    <Dialog title="Decline the request?" onClose={onClose}>
      <form className="tight" onSubmit={send}>
        <p className="second">
          Nothing is deleted. Millrace does not notify the person: tell them the reason yourself. The request is
          discarded after 7 days.
        </p>
        <div className="field">
          <label htmlFor={field}>Reason</label>
          <select
            className="input"
            id={field}
            name="reason"
            required
            defaultValue=""
            aria-describedby={`${field}-hint`}
          >
            <option value="">Choose one</option>
            {DECLINE_REASONS.map((reason) => (
              <option key={reason} value={reason}>
                {REASONS[reason]}
              </option>
            ))}
          </select>
          <span className="hint" id={`${field}-hint`}>
            The audit log keeps it with who declined, and when.
          </span>
        </div>
        <FormEnd refusal={decline.error} isOff={decline.isPending} onClose={onClose}>
          Decline it
        </FormEnd>
      </form>
    </Dialog>
  );
}
