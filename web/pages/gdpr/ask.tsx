/** The form that requests access to, or the deletion of, people's data. */
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useId, useState } from 'react';
import type { ListedGdprRequest } from '../../../api/client.ts';
import { Confirm, Dialog, FormEnd } from '../../parts/dialog.tsx';
import { textOf } from '../../parts/text-of.ts';
import type { Refusal } from '../../session/api.ts';
import { useAction } from '../../session/calls.ts';
import { peopleText } from './request-state.tsx';

type Asked = { users: string[]; skip_email: boolean };

/** Asks for user ids. A deletion is sent once the person has typed how many people it deletes. */
export function Ask({
  type,
  users = [],
  onClose,
}: {
  type: ListedGdprRequest['type'];
  /** Ids that the form begins with. */
  users?: readonly string[];
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const [asked, setAsked] = useState<Asked | null>(null);
  const changes = ['listGdprRequests'] as const;
  const onDone = ({ callback_url: url }: { callback_url: string }): void => {
    onClose();
    void navigate({ to: `/privacy/${new URL(url).searchParams.get('request_id') ?? ''}` });
  };
  const access = useAction('requestAccess', { changes, onDone });
  const deletion = useAction('requestDeletion', { changes, onDone });
  if (asked && type === 'delete') {
    return (
      <Confirm
        title={`Delete all data of ${peopleText(asked.users.length)}?`}
        says="Millrace erases it in every location, and refuses their data from then on. It cannot be undone. People on hold wait for the release."
        word={String(asked.users.length)}
        action="Delete their data"
        isBusy={deletion.isPending}
        refusal={deletion.error}
        onConfirm={() => deletion.mutate({ body: asked })}
        onClose={onClose}
      />
    );
  }
  return (
    <AskForm
      type={type}
      users={users}
      isBusy={access.isPending}
      refusal={access.error}
      onClose={onClose}
      onAsk={(body) => (type === 'access' ? access.mutate({ body }) : setAsked(body))}
    />
  );
}

function AskForm({
  type,
  users,
  isBusy,
  refusal,
  onClose,
  onAsk,
}: {
  type: ListedGdprRequest['type'];
  users: readonly string[];
  isBusy: boolean;
  refusal: Refusal | null;
  onClose: () => void;
  onAsk: (asked: Asked) => void;
}) {
  const field = useId();
  const [count, setCount] = useState(users.length);
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    onAsk({ users: idsOf(textOf(form, 'users')), skip_email: textOf(form, 'email') === '' });
  };
  return (
    <Dialog title={type === 'access' ? 'Request access' : 'Request deletion'} onClose={onClose}>
      <form className="tight" onSubmit={send}>
        <p className="second">
          {type === 'access'
            ? 'Millrace writes an archive for each person, to be downloaded from the request.'
            : 'Millrace erases all data of these people, and shows 0 survivors before it says "treated".'}
        </p>
        <div className="field">
          <label htmlFor={field}>User ids, one a line</label>
          <textarea
            className="input area mono"
            id={field}
            name="users"
            rows={5}
            defaultValue={users.join('\n')}
            required
            aria-describedby={`${field}-hint`}
            onChange={({ target }) => setCount(idsOf(target.value).length)}
          />
          <span className="hint" id={`${field}-hint`}>
            {peopleText(count)}. At most 10,000; ids that come twice count once.
          </span>
        </div>
        <label>
          <input type="checkbox" name="email" defaultChecked /> Mail me when it is done
        </label>
        <FormEnd refusal={refusal} isOff={isBusy || count === 0} onClose={onClose}>
          {type === 'access' ? 'Request access' : 'Go on'}
        </FormEnd>
      </form>
    </Dialog>
  );
}

/** Returns the ids of a column, each once: spaces within a line belong to its id. */
export function idsOf(text: string): string[] {
  return [...new Set(text.split(/\r?\n/).filter((line) => line.trim() !== ''))];
}
