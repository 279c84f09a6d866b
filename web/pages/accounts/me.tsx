/** The person's own settings: password, theme, zone and keys. */
import { type FormEvent, useId } from 'react';
import { Refused } from '../../parts/refusal.tsx';
import { textOf } from '../../parts/text-of.ts';
import { useAction } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { changeSettings, type Theme, THEMES, useSettings } from '../../session/settings.ts';

export function Me() {
  const { session } = useSession();
  return (
    <>
      <div className="head">
        <h1>You</h1>
        <span className="second">{session.user.email}</span>
      </div>
      <Password />
      <View />
    </>
  );
}

function Password() {
  const change = useAction('changeOwnPassword');
  const [current, next] = [useId(), useId()];
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const body = { password: textOf(form, 'password'), new_password: textOf(form, 'new_password') };
    change.mutate({ body }, { onSuccess: () => form.reset() });
  };
  return (
    <section className="panel" aria-labelledby="password-title">
      <header>
        <h2 id="password-title">Password</h2>
      </header>
      <form className="body" onSubmit={send}>
        <div className="two">
          <div className="field">
            <label htmlFor={current}>Current password</label>
            <input
              className="input"
              id={current}
              name="password"
              type="password"
              autoComplete="current-password"
              required
            />
          </div>
          <div className="field">
            <label htmlFor={next}>New password</label>
            <input
              className="input"
              id={next}
              name="new_password"
              type="password"
              autoComplete="new-password"
              required
            />
          </div>
        </div>
        {change.error && <Refused refusal={change.error} />}
        {change.isSuccess && <p role="status">Changed. All other sessions of yours have ended.</p>}
        <button className="btn main" type="submit" disabled={change.isPending}>
          Change the password
        </button>
      </form>
    </section>
  );
}

function View() {
  const { theme, hasSingleKeys } = useSettings();
  return (
    <section className="panel" aria-labelledby="view-title">
      <header>
        <h2 id="view-title">How you see it</h2>
      </header>
      <div className="body">
        <fieldset className="controls">
          <legend>Theme</legend>
          {THEMES.map((each: Theme) => (
            <label key={each}>
              <input
                type="radio"
                name="theme"
                checked={theme === each}
                onChange={() => changeSettings({ theme: each })}
              />{' '}
              {each}
            </label>
          ))}
        </fieldset>
        <label>
          <input
            type="checkbox"
            checked={hasSingleKeys}
            onChange={({ target }) => changeSettings({ hasSingleKeys: target.checked })}
          />{' '}
          Single keys: ? lists them
        </label>
        <p className="small quiet">The zone of times stands in the top line.</p>
      </div>
    </section>
  );
}
