/** The login. Forgotten passwords and invitations have pages of the server. */
import { type FormEvent, useState } from 'react';
import type { ConsoleSession } from '../../api/client.ts';
import { Icon } from '../parts/icon.tsx';
import { textOf } from '../parts/text-of.ts';
import { api, Refusal } from './api.ts';

export function Login({ isOver, onSession }: { isOver: boolean; onSession: (session: ConsoleSession) => void }) {
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const [isSending, setSending] = useState(false);
  const logIn = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    setSending(true);
    try {
      onSession(await api.openSession({ body: { email: textOf(form, 'email'), password: textOf(form, 'password') } }));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setRefusal(error);
      setSending(false);
    }
  };
  return (
    <main className="login">
      <section className="panel" aria-labelledby="login-title">
        <form className="body" onSubmit={(event) => void logIn(event)}>
          <div className="brand">
            <Wave />
            <h1 id="login-title">Millrace</h1>
          </div>
          {isOver && refusal === null && (
            <p className="note info" role="status">
              <Icon name="clock" />
              The session has ended. Log in to go on where you were.
            </p>
          )}
          {refusal && (
            <p className="note bad" role="alert">
              <Icon name="crash" />
              {refusal.message}
            </p>
          )}
          {window.isSecureContext ? null : (
            <p className="note warn">
              <Icon name="lock" />
              This address is not secure: browsers keep a session over HTTPS, or at 127.0.0.1, only.
            </p>
          )}
          <div className="field">
            <label htmlFor="email">E-mail</label>
            <input className="input" id="email" name="email" type="email" autoComplete="username" required autoFocus />
          </div>
          <div className="field">
            <label htmlFor="password">Password</label>
            <input
              className="input"
              id="password"
              name="password"
              type="password"
              autoComplete="current-password"
              required
            />
          </div>
          <button className="btn main" type="submit" disabled={isSending}>
            {isSending ? 'Logging in' : 'Log in'}
          </button>
          <p className="small second">
            <a href="/reset">Forgot the password</a>
          </p>
        </form>
      </section>
    </main>
  );
}

export function Wave() {
  return (
    <svg viewBox="0 0 20 20" aria-hidden="true">
      <path
        d={
          'M2 7c2.7 0 2.7-2.5 5.3-2.5S10 7 12.7 7 15.3 4.5 18 4.5M2 12c2.7 0 2.7-2.5 5.3-2.5S10 12 12.7 12s2.6-2.5 5.3-2.5' +
          'M2 17c2.7 0 2.7-2.5 5.3-2.5S10 17 12.7 17s2.6-2.5 5.3-2.5'
        }
        fill="none"
        stroke="currentColor"
        strokeWidth="1.8"
        strokeLinecap="round"
      />
    </svg>
  );
}
