declare module 'virtual:glbp' {
  import type { StaticGateway } from 'glbp-client'

  export const agents: string[]
  export const gateways: (string | StaticGateway)[]
}
