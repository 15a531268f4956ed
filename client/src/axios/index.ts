import axios, { type AxiosAdapter, type AxiosResponse, type InternalAxiosRequestConfig } from 'axios'
import type { Glbp } from '../index.js'

/**
 * An axios adapter around a client: `axios.create({ adapter: glbpAdapter(glbp) })`. It is axios's own fetch adapter
 * on the client's fetch, so that time-outs, progress, cancelling and errors stay axios's. Leave `baseURL` empty, or a
 * path: the gateway is put before it.
 */
export function glbpAdapter(glbp: Glbp): AxiosAdapter {
  return (config: InternalAxiosRequestConfig): Promise<AxiosResponse> => {
    const env = { ...config.env, fetch: glbp.fetch, Request: null, Response: globalThis.Response }
    const withFetch = { ...config, env } as unknown as InternalAxiosRequestConfig
    return (axios.getAdapter as (name: string, config: unknown) => AxiosAdapter)('fetch', withFetch)(withFetch)
  }
}
