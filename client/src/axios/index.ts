import axios, { type AxiosAdapter, type AxiosResponse, type InternalAxiosRequestConfig } from 'axios'
import type { Glbp } from '../index.js'

/**
 * An axios adapter around a client: `axios.create({ adapter: glbpAdapter(glbp) })`. It is axios's own fetch adapter
 * on the client's fetch, so that time-outs, progress of downloads, cancelling and errors stay axios's. Leave `baseURL`
 * empty, or a path: the gateway is put before it.
 */
export function glbpAdapter(glbp: Glbp): AxiosAdapter {
  let told = false
  // Without a Request, which wants a whole url, axios says nothing of credentials.
  const withCredentials: Glbp['fetch'] = (input, init) => glbp.fetch(input, { ...init, credentials: 'include' })
  return (config: InternalAxiosRequestConfig): Promise<AxiosResponse> => {
    if ('axios-retry' in config && !told) {
      told = true
      console.warn('glbp: axios-retry sends again after all tries: remove it, or they multiply')
    }
    const env = { ...config.env, fetch: config.withCredentials ? withCredentials : glbp.fetch, Request: null, Response: globalThis.Response }
    const withFetch = { ...config, env } as unknown as InternalAxiosRequestConfig
    return (axios.getAdapter as (name: string, config: unknown) => AxiosAdapter)('fetch', withFetch)(withFetch)
  }
}
