<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis styleCategories="Symbology" version="3.34.0">
  <pipe>
    <rasterrenderer type="singlebandpseudocolor" band="1" opacity="1" alphaBand="-1" nodataColor="" classificationMin="0" classificationMax="1">
      <rastershader>
        <colorrampshader colorRampType="INTERPOLATED" classificationMode="1" minimumValue="0" maximumValue="1" clip="0">
          <item value="0" label="0 %" color="#fff500" alpha="0"/>
          <item value="0.25" label="25 %" color="#ffd75a" alpha="120"/>
          <item value="0.5" label="50 %" color="#fd8d3c" alpha="190"/>
          <item value="1" label="100 %" color="#bd0026" alpha="230"/>
        </colorrampshader>
      </rastershader>
    </rasterrenderer>
  </pipe>
  <blendMode>0</blendMode>
</qgis>
