// The gateway.json of one host of a test network.
import { ip4, ip6 } from './net.mjs';

export const nodeName = (i) => `bff-${i}`;

/**
 * @param {number} i      host number, also the last part of its address
 * @param {string} dir    directory of this host's files
 * @param {object} options
 *   hello, hold   timers of the group in ms; undefined: the daemon's defaults
 *   ipv6          speak IPv6 (multicast ff02::3222, urls with fd77:: addresses)
 *   peers         unicast peers instead of multicast
 *   key           file with the key; undefined: unsigned
 */
export function hostConfig(i, dir, { hello, hold, ipv6 = false, peers, key } = {}) {
  const address = ipv6 ? `[${ip6(i)}]` : ip4(i);
  const any = ipv6 ? '[::]' : '0.0.0.0';
  const config = {
    node: nodeName(i),
    cluster: 'test',
    state_dir: `${dir}/state`,
    control: `${dir}/run/control.sock`,
    log: { level: 'info', format: 'text' },
    transport: { listen: `${any}:3222` },
    http: {
      listen: `${any}:8080`,
      admin_listen: '127.0.0.1:8081',
      url: `http://${address}:8080`,
      threads: 2,
    },
    groups: [{
      name: 'web',
      id: 10,
      url: `http://${address}:3000`,
      // A patient time-out: a BFF that is late because the machine is busy is not down.
      checks: [{ name: 'health', url: 'http://127.0.0.1:3000/health', interval_ms: 200,
        timeout_ms: 2000 }],
      forwarder_preempt_delay_ms: 500,
    }],
  };
  if (peers) config.transport.peers = peers;
  else
    config.transport.multicast = { group: ipv6 ? 'ff02::3222' : '239.255.32.22',
      interface: 'eth0' };
  if (key) config.auth = { mode: 'enforce', keys: [{ id: 1, file: key }] };
  if (hello) config.groups[0].timers = { hello_ms: hello, hold_ms: hold };
  return config;
}
