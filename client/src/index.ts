export { GlbpError } from './error.js'
export { createGlbp, type Glbp } from './glbp.js'
export type {
  Attempt, Env, Explanation, Gateway, GlbpEvents, GlbpInit, GlbpOptions, LoadBalancing, Pool, PoolGateway, Snapshot,
  StaticGateway, Status, Target,
} from './types.js'
