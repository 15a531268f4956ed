// Commands of the host system, and the clock that every process of a test shares.
import { spawnSync } from 'node:child_process';

/** Milliseconds of CLOCK_MONOTONIC, which all processes of a machine share, namespaces or not. */
export const now = () => Number(process.hrtime.bigint()) / 1e6;

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs a program to its end; throws with its stderr when it fails. */
export function run(command, args, { input } = {}) {
  const done = spawnSync(command, args, { input, encoding: 'utf8' });
  if (done.error) throw done.error;
  if (done.status !== 0)
    throw new Error(`${command} ${args.join(' ')}: ${done.stderr || `exit ${done.status}`}`);
  return done.stdout;
}
