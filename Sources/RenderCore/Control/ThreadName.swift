internal import CRender

/// What the running thread is called in a debugger: 15 characters at most.
package func nameThread(_ name: String) { unsafe crender_name_thread(name) }
