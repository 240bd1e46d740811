internal import CRender

/// Names the running thread for debuggers: 15 characters at most.
package func nameThread(_ name: String) { unsafe crender_name_thread(name) }
