// Says which of the given places are in use: ports.mjs tcp:127.0.0.1:8080 udp:127.0.0.1:3222 …
// Exit code 1 and one line each if any is.
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

function occupied(place) {
  const [kind, host, port] = place.split(':');
  return new Promise((resolve) => {
    const socket = kind === 'udp' ? createSocket('udp4') : createServer();
    const end = (error) => resolve(error && `${place}: ${error.code === 'EADDRINUSE'
      ? 'in use by another program' : error.message}`);
    socket.once('error', end);
    const free = () => socket.close(() => end(null));
    if (kind === 'udp') socket.bind({ port: Number(port), address: host, exclusive: true }, free);
    else socket.listen({ port: Number(port), host }, free);
  });
}

const lines = (await Promise.all(process.argv.slice(2).map(occupied))).filter(Boolean);
lines.forEach((line) => console.error(line));
process.exit(lines.length ? 1 : 0);
