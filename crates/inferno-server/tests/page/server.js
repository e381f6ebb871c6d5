// `inferno serve` with the built-in model on a free port.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const binary = process.env.INFERNO_BINARY;

/** Starts a server with additional options; returns its address and a function that stops it. */
export async function startServer(...flags) {
  if (!binary) throw new Error('INFERNO_BINARY names no program');
  const server = spawn(binary, ['serve', '--port', '0', '--threads', '1', ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
  });
  const log = [];
  const address = await new Promise((resolve, reject) => {
    server.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${log.join('\n')}`)));
    createInterface({ input: server.stderr }).on('line', (line) => {
      log.push(line);
      const found = /listening on (\S+)/.exec(line);
      if (found) resolve(found[1]);
    });
  });
  while (!(await fetch(`${address}/health`)).ok) await new Promise((resolve) => setTimeout(resolve, 20));
  const stop = async () => {
    if (server.exitCode !== null) return;
    const ended = once(server, 'exit');
    server.kill('SIGTERM');
    await ended;
  };
  return { address, stop };
}
