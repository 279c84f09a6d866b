import { runCommand } from './run-command.ts';

// A reader of the output may stop at any time, as `head` does: that is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

process.exitCode = await runCommand(process.argv.slice(2), process);
