import { useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';

/** Returns an app's record, if the person may see it, without its secrets. */
export function useApp(identifier: string) {
  const { may } = useSession();
  const read = useRead(
    'viewApp',
    { params: { app_identifier: identifier }, query: { secrets: false } },
    { isWanted: identifier !== '' && may('viewApp') },
  );
  return identifier === '' ? undefined : read.data?.apps[0];
}
