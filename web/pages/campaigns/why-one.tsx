import { type FormEvent, useState } from 'react';
import { Field } from '../../parts/field.tsx';
import { Panel } from '../../parts/panel.tsx';
import { textOf } from '../../parts/text-of.ts';
import { DeliveryWhy } from '../sends/delivery-why.tsx';

/** Asks for one person: why a campaign's message comes, or does not. The look begins with a press of its own. */
export function WhyOne({ campaign }: { campaign: string }) {
  const [user, setUser] = useState('');
  const ask = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setUser(textOf(event.currentTarget, 'user').trim());
  };
  return (
    <Panel title="Why this message, or not">
      <form className="body" onSubmit={ask}>
        <div className="entry-row">
          <Field label="User id" name="user" autoComplete="off" spellCheck={false} required />
          <button type="submit" className="btn">
            Ask about this person
          </button>
        </div>
      </form>
      {user !== '' && (
        <div className="body asked">
          <DeliveryWhy key={user} person={{ user_id: user }} campaign={campaign} />
        </div>
      )}
    </Panel>
  );
}
