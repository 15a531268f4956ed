// Datagrams of protocol.md section 3, written a second time and on purpose without the daemon's
// code: what a stranger, an old recording or a liar puts on the wire.
import { createHmac } from 'node:crypto';

const MAGIC = Buffer.from('GLB1');
export const HEADER = 40;

/** Header and payload: {keyId, mac, payload}. */
export function open(datagram) {
  return {
    keyId: datagram.readUInt32BE(4),
    mac: datagram.subarray(8, HEADER),
    payload: datagram.subarray(HEADER),
  };
}

/** A whole datagram; signed with `key` (32 bytes) as key `keyId` in `cluster`, or unsigned. */
export function seal(payload, { key, keyId = 1, cluster = 'test' } = {}) {
  const id = Buffer.alloc(4);
  id.writeUInt32BE(key ? keyId : 0);
  const mac = key
    ? createHmac('sha256', key).update(cluster).update(Buffer.from([0])).update(MAGIC).update(id)
      .update(payload).digest()
    : Buffer.alloc(32);
  return Buffer.concat([MAGIC, id, mac, payload]);
}

function uint(value) {
  const big = BigInt(value);
  if (big < 128n) return Buffer.from([Number(big)]);
  const [type, bytes] = big < 1n << 8n ? [0xcc, 1] : big < 1n << 16n ? [0xcd, 2]
    : big < 1n << 32n ? [0xce, 4] : [0xcf, 8];
  const out = Buffer.alloc(1 + bytes);
  out[0] = type;
  for (let i = 0; i < bytes; i++) out[bytes - i] = Number((big >> BigInt(8 * i)) & 0xffn);
  return out;
}

function str(text) {
  const bytes = Buffer.from(text);
  const head = bytes.length < 32 ? [0xa0 | bytes.length] : [0xd9, bytes.length];
  return Buffer.concat([Buffer.from(head), bytes]);
}

/** msgpack of unsigned integers, strings, arrays (≤ 15) and Maps (≤ 65535 keys). */
export function pack(value) {
  if (typeof value === 'string') return str(value);
  if (Array.isArray(value))
    return Buffer.concat([Buffer.from([0x90 | value.length]), ...value.map(pack)]);
  if (value instanceof Map) {
    const head = value.size < 16 ? [0x80 | value.size] : [0xde, value.size >> 8, value.size & 255];
    return Buffer.concat([Buffer.from(head),
      ...[...value].flatMap(([key, item]) => [pack(key), pack(item)])]);
  }
  return uint(value);
}

/** The payload of a hello; `fields` replaces or adds keys (section 3's table), in ascending order. */
export function hello(fields) {
  const all = new Map([
    [0, 0], [1, 10], [2, 'stranger'], [3, Date.now()], [4, 1], [6, 2], [7, 100], [8, 100],
    [9, 350], [10, ['10.77.0.99', 3222]], [11, 8], [12, 0], [13, [0, '', 0]],
    [14, 'http://10.77.0.99:3000'], [15, [100, 100]], [16, 0],
    ...Object.entries(fields).map(([key, value]) => [Number(key), value]),
  ]);
  return pack(new Map([...all].sort(([a], [b]) => a - b)));
}

/** Id hash of section 3: FNV-1a 64 over node, a zero byte, incarnation as 8 bytes. */
export function nodeId(node, incarnation) {
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(BigInt(incarnation));
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.concat([Buffer.from(node), Buffer.from([0]), number]))
    hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return hash;
}

/** A claim that would beat every other: priority 255, a term far ahead, `peers` ({node,
 *  incarnation}) all heard. */
export function claim(peers, fields = {}) {
  const node = fields[2] ?? 'stranger';
  const incarnation = fields[3] ?? Date.now();
  const term = 2 ** 45;
  return hello({
    3: incarnation, 6: 5, 7: 255, 12: term,
    17: peers.map((peer) => [nodeId(peer.node, peer.incarnation), 1, 1]),
    20: [nodeId(node, incarnation), term, 0],
    ...fields,
  });
}
