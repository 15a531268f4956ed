import type { GlbpInit, Target } from './types.js'

/** A request that can be sent to any gateway, if need be again. */
export interface Plan {
  /** As the caller gave it. */
  target: string
  /** The part of the target that every gateway knows. @throws TypeError for a url of somebody else. */
  path(gateways: readonly { url: string }[]): string
  init: RequestInit
  signal: AbortSignal | undefined
  key: string
  /** Whether it may be sent a second time. */
  again: boolean
  /** Whether a second one may run beside it. */
  beside: boolean
}

type Unpack = typeof import('./unpack.js')

const IDEMPOTENT = /^(GET|HEAD|OPTIONS|PUT|DELETE)$/
const ABSOLUTE = /^([\w+.-]+:|\/\/)/

/**
 * Takes fetch's arguments apart.
 * @throws TypeError for what fetch would refuse by itself: a mistake of the caller, which is no gateway's failure.
 */
export async function plan(input: Target, init?: GlbpInit): Promise<Plan> {
  const { glbp, signal, ...rest } = { ...init }
  const request = (input as Partial<Request>).clone && (input as Request)
  const target = request ? request.url : String(input)
  const absolute = ABSOLUTE.test(target) && (await import('./unpack.js'))
  const plain: RequestInit = request ? await (absolute as Unpack).unpack(request, rest) : rest
  // A stream, or what Node takes for one, is gone once it was read.
  const replayable = !(Symbol.asyncIterator in Object(plain.body))
  // What a body holds need not be copied to be judged, nor does it say its type here.
  const body = plain.body && replayable ? new Blob() : plain.body
  const { method, headers } = new Request('http://gateway', { ...plain, body } as RequestInit)
  const idempotent = IDEMPOTENT.test(method)
  return {
    target,
    path: (gateways) => (absolute ? absolute.pathOf(target, gateways) : target),
    // A copy: the caller may go on to use its own for the next request.
    init: { ...plain, method, headers },
    signal: signal ?? request?.signal,
    key: glbp?.key ?? '',
    again: replayable && (glbp?.retry ?? (idempotent || headers.has('Idempotency-Key'))),
    beside: replayable && idempotent && glbp?.retry !== false,
  }
}
