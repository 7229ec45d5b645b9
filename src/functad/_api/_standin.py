from functad._core.interpret import python_function, python_source
class Executable:
    def __init__(self, program): self.program=program; self.f=python_function(program)
    def __call__(self,*a): return self.f(*a)
    def source(self): return python_source(self.program)[0]
    def caller(self, bound, fallback=None):
        import numpy as np
        n=len(self.program.inputs); names=[t for i,t in enumerate(self.program.input_types) if i not in bound]
        def call(*a, **k):
            if fallback is not None and (k or len(a)!=len(names) or any(np.shape(x)!=t.shape or getattr(x,'dtype',t.dtype)!=t.dtype for x,t in zip(a,names))): return fallback(*a,**k)
            it=iter(a); full=[bound[i] if i in bound else next(it) for i in range(n)]
            o=self.f(*full)
            return o[0] if len(o)==1 else o
        return call
