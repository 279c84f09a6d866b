/** Who is logged in, in which entity, with which rights; the end of the session in every tab. */
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import type { ConsoleSession, OperationName } from '../../api/client.ts';
import { rightsFor } from '../../api/core/called-operation.ts';
import { hasRole } from '../../api/core/operation.ts';
import type { Right } from '../../domain/accounts/rights.ts';
import type { Page } from '../pages/page.ts';
import { api, BACKGROUND, operationOf, Refusal, showEntity } from './api.ts';
import { IdleWarning } from './idle.tsx';
import { Login } from './login.tsx';

/** Ends or blocks the tab if a call found that its session is gone, or acts in another entity by now. */
function heed(error: unknown): void {
  if (!(error instanceof Refusal)) return;
  // A wrong password is a 401, too: only the session itself says that it is gone.
  if (error.http === 401) void askSession().catch(endIfGone);
  if (error.http === 409 && error.status === 'other_entity') gate.block();
}

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: heed }),
  mutationCache: new MutationCache({ onError: heed }),
  defaultOptions: {
    // The client retries what may be sent again, and says that it waits.
    queries: { retry: false, refetchOnWindowFocus: false, staleTime: 5_000 },
    mutations: { retry: false },
  },
});

/** Rights and a role that are missing for an operation. Empty if the person may call it. */
export type Missing = readonly string[];

type SessionValue = {
  session: ConsoleSession;
  /**
   * Returns what the person lacks for the operation. Some need a further right for a type or a field: `of` is what the
   * call is about, its body or query or the record.
   */
  missingFor: (operation: OperationName, of?: object) => Missing;
  /** Returns what the person lacks for a page. */
  missingForPage: (page: Pick<Page, 'needs' | 'anyOf'>) => Missing;
  may: (operation: OperationName, of?: object) => boolean;
  switchTo: (entity: string) => Promise<void>;
  logOut: () => Promise<void>;
};

const Context = createContext<SessionValue | null>(null);

export function useSession(): SessionValue {
  const value = useContext(Context);
  if (!value) throw new Error('a part that needs a session is used outside of one');
  return value;
}

/** Asks for the session as a page does by itself: that is no use of it. */
const askSession = (): Promise<ConsoleSession> => api.viewSession({}, BACKGROUND);

function endIfGone(error: unknown): void {
  if (error instanceof Refusal && error.http === 401) gate.end();
}

/** Lets the tabs of a browser hear that a session ended, began, or acts in another entity. */
const tabs = new BroadcastChannel('millrace-session');
type Word = 'ended' | 'begun' | 'switched';
const say = (word: Word): void => tabs.postMessage(word);

type State =
  | { kind: 'loading' }
  | { kind: 'login'; isOver: boolean }
  | { kind: 'failed'; refusal: Refusal }
  | { kind: 'blocked' }
  | { kind: 'in'; session: ConsoleSession };

/** This tab's gate, as a call can move it. */
const gate = { end() {}, block() {} };

/** Shows the login, or what needs a session. */
export function SessionGate({ children }: { children: ReactNode }) {
  const [state, setState] = useState<State>({ kind: 'loading' });
  const load = async (): Promise<void> => {
    try {
      begin(await api.viewSession());
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setState(error.http === 401 ? { kind: 'login', isOver: false } : { kind: 'failed', refusal: error });
    }
  };
  const begin = (session: ConsoleSession): void => {
    showEntity(session.entity.identifier);
    setState({ kind: 'in', session });
  };
  const end = (isOver: boolean): void => {
    showEntity(null);
    queries.clear();
    setState({ kind: 'login', isOver });
  };
  useEffect(() => {
    void load();
    gate.end = () => {
      end(true);
      say('ended');
    };
    gate.block = () => setState({ kind: 'blocked' });
    const heard = ({ data }: MessageEvent<Word>): void => {
      if (data === 'ended') return end(true);
      if (data === 'switched') return gate.block();
      // The session that this tab shows was another, perhaps of another person.
      queries.clear();
      setState({ kind: 'loading' });
      void load();
    };
    tabs.addEventListener('message', heard);
    return () => tabs.removeEventListener('message', heard);
  }, []);
  if (state.kind === 'loading')
    return (
      <p className="sr" role="status">
        Loading
      </p>
    );
  if (state.kind === 'failed') return <Unreachable refusal={state.refusal} retry={() => void load()} />;
  if (state.kind === 'blocked') return <OtherEntity />;
  if (state.kind === 'login') {
    return (
      <Login
        isOver={state.isOver}
        onSession={(session) => {
          begin(session);
          say('begun');
        }}
      />
    );
  }
  return (
    <SessionProvider
      session={state.session}
      onEnd={() => {
        end(false);
        say('ended');
      }}
    >
      {children}
    </SessionProvider>
  );
}

function SessionProvider({
  session,
  onEnd,
  children,
}: {
  session: ConsoleSession;
  onEnd: () => void;
  children: ReactNode;
}) {
  const value = useMemo((): SessionValue => {
    const missingFor: SessionValue['missingFor'] = (operation, of) => missingOf(session, operation, of);
    return {
      session,
      missingFor,
      missingForPage: ({ needs, anyOf = [] }) => [
        ...new Set(needs.flatMap((name) => missingFor(name))),
        ...(anyOf.length === 0 || anyOf.some((right) => session.enable[right]) ? [] : [anyOf.join(' or ')]),
      ],
      may: (operation, of) => missingFor(operation, of).length === 0,
      async switchTo(entity) {
        await api.switchSession({ body: { entity } });
        say('switched');
        location.assign('/console/');
      },
      async logOut() {
        await api.endSession();
        onEnd();
      },
    };
  }, [session, onEnd]);
  return (
    <Context.Provider value={value}>
      {children}
      <IdleWarning session={session} ask={askSession} extend={() => api.viewSession()} onError={endIfGone} />
    </Context.Provider>
  );
}

/** Returns rights and the role that the session lacks for the operation, and for what the call is about. */
function missingOf(session: ConsoleSession, name: OperationName, of?: object): Missing {
  const operation = operationOf(name);
  const lacked: string[] = rightsFor(operation, of).filter((right: Right) => !session.enable[right]);
  return hasRole({ ...session, isPerson: true }, operation.role) ? lacked : [...lacked, operation.role!];
}

function Unreachable({ refusal, retry }: { refusal: Refusal; retry: () => void }) {
  return (
    <main className="login">
      <section className="panel">
        <div className="body">
          <h1>Millrace does not answer</h1>
          <p className="second">{refusal.message}</p>
          <button type="button" className="btn main" onClick={retry}>
            Try again
          </button>
        </div>
      </section>
    </main>
  );
}

function OtherEntity() {
  return (
    <main className="login">
      <section className="panel">
        <div className="body">
          <h1>Another tab has switched the entity</h1>
          <p className="second">This tab shows the one before. Nothing of it was sent to the other entity.</p>
          <button type="button" className="btn main" onClick={() => location.assign('/console/')}>
            Show the entity of the session
          </button>
        </div>
      </section>
    </main>
  );
}
